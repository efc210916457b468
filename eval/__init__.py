"""How good the answers' foundations are: retrieval and thresholds, measured through the running services."""
