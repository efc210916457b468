"""Signing in with a browser: the identity provider's code flow, and the session that a sealed cookie holds."""
