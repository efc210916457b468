"""Commands on who may do what: sign in and out, API keys, grants."""
