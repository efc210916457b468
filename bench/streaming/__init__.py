"""What the way from the language model to the client adds to each token."""
