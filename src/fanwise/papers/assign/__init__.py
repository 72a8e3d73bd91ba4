"""Yu, Agarwal and Yang, ICDE 2011: subscribers assigned to brokers of a content-based tree."""
