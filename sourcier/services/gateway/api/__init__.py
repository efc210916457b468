"""The gRPC services and the webhook: requests in, domain calls, replies out."""
