"""The Connect protocol over HTTP: every unary and server-streaming method of the gateway's public services."""
