"""NATS JetStream: the table of subjects, publishing, the consume loop, logs by subject."""
