"""Which broker serves which subscriber, and what each broker lets through."""
