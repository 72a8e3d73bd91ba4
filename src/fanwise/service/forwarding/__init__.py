"""The forwarder: takes messages at the ingress, and sends each to the side that serves it."""
