"""Questions that ask for a computation: told from others, and answered exactly from figures of the passages."""
