"""Lower bounds on the bandwidth, and the certificates that they follow from."""
