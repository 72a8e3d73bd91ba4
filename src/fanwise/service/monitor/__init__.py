"""What the service watches: events and subscriptions, counted window by window, exactly once."""
