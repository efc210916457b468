"""The generate service beside vLLM called directly: first token, tokens a second, our settings of it."""
