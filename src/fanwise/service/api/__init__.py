"""The service's HTTP interface."""
