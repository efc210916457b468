"""Collections that move to another embedding space: built beside the one that answers, then switched to."""
