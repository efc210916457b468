"""The servers that the stack brings along: NATS, PostgreSQL and an S3 store, as child processes."""
