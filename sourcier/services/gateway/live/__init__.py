"""Answers in the making, which outlive the calls that read them, and their copies for other gateways."""
