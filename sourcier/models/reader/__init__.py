"""The reader's weights; docs/developing/reader.md says what they are, how they were fitted and what they are worth."""
