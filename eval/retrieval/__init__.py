"""Which passages are found: whole sets through the running services, and parts of retrieval in this process."""
