"""Exchanging topics one by one, with every benefit and loss kept up to date."""
