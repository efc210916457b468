"""HTTP for people with curl: documents in, jobs, conversations, embeddings and ranking."""
