"""What holds of documents that replace, amend, plan or contradict: how it is decided, without a language model."""
