"""Why a provisioning is what it is."""
