"""Commands on agents and on the answers that people keep for them."""
