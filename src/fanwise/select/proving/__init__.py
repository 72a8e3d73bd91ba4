"""What bounds follow from, in tables that anyone can check."""
