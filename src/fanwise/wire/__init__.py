"""The family of Zhao and Wu: attach users to brokers so that all traffic together costs least."""
