"""Pictures inside documents: taken out within limits, each once, and told as passages once they were read."""
