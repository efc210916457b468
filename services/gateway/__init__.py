"""The gateway: the public services, and the chain from a question to a cited answer."""
