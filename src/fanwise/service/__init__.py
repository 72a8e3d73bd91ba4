"""The decision service: watches traffic, decides window by window, and carries decisions out."""
