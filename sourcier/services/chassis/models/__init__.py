"""The model store, and what of this machine its models run on: processor, GPU, memory."""
