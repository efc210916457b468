"""Mode tools: the language model asks for searches before it answers."""
