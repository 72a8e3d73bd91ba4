"""Branch and bound over attachments: tables, the walk over its tree, leaves for certificates."""
