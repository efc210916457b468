"""The engine that runs vLLM beside this process."""
