"""Tools of a request checked, tool calls read out of text."""
