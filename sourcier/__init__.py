"""Sourcier's SDK: the generated contracts, a typed asynchronous client and the command line."""
