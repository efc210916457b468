"""Watched buckets: notifications, rules, and what the store is asked."""
