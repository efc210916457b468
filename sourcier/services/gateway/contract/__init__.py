"""Domain objects as messages of the public contract; protobuf stops here and in `api`."""
