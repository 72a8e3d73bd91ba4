"""The offload network: edge brokers wired by a connect plan, written for Mosquitto and run here."""
