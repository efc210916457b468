"""The rerank service: orders candidate passages by how well they answer a question."""
