"""gRPC as every service uses it: one server, one way to call, streams that end cleanly."""
