"""From a closed window to a decision with its certificate and its reasons."""
