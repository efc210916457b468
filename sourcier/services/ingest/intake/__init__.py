"""Documents accepted and removed: originals in the object store, one transaction in the index."""
