"""What proves a bound: prices on brokers, trees, the gathering of subscribers, certificates."""
