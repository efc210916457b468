"""The calls of a client, one module for each group of methods."""
