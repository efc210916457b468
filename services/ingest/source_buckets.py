"""The buckets that documents come from, opened when a rule first names them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from services.chassis.objects import ObjectStore
from services.ingest.bucket_rules import BucketRules


class SourceBuckets:
    """The rules, and the stores they are about."""

    def __init__(self, rules: BucketRules, open_bucket: Callable[[str], ObjectStore]) -> None:
        """`open_bucket` opens a bucket by name, without I/O."""
        self.rules = rules
        self._open = lru_cache(maxsize=None)(open_bucket)

    def store(self, bucket: str) -> ObjectStore:
        """Return a watched bucket."""
        return self._open(bucket)
