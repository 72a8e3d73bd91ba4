"""A look at traces without Spark: what is in them, what is what, and how to ingest them."""
