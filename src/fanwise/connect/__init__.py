"""Which links to make between subscribers so that every topic reaches all of its own over them."""
