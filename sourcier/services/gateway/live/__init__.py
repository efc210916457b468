"""Answers in the making, which outlive the calls that read them, their copies for other gateways, and the start."""
