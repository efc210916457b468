"""`sourcier ingest`: finds the files, compares them with what is there, sends them and shows how far they are."""
