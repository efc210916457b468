"""The gRPC services of ingest: requests in, domain calls, replies out."""
