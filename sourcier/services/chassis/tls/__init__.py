"""Certificates: what a server encrypts with, what a client shows and trusts; all read again when the files change."""
