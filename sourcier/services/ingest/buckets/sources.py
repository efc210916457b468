"""The buckets that documents come from, opened when a rule first names them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from urllib.parse import urlsplit

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.ingest.buckets.rules import BucketRules
from sourcier.services.ingest.storage import OWN_PREFIXES

DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class SourceBuckets:
    """The rules, and the stores they are about."""

    def __init__(self, rules: BucketRules, open_bucket: Callable[[str], ObjectStore]) -> None:
        """`open_bucket` opens a bucket by name, without I/O."""
        self.rules = rules
        self._open = lru_cache(maxsize=None)(open_bucket)

    def store(self, bucket: str) -> ObjectStore:
        """Return a watched bucket."""
        return self._open(bucket)


def check_watched(rules: BucketRules, *, source_url: str, own_url: str, own_bucket: str) -> None:
    """Raise `InvalidArgument` where a rule's bucket would be another one, or is where the service keeps its own files.

    `source_url` is that of the store with the watched buckets, empty for the service's own.
    """
    url = source_url or own_url
    variable = "SOURCIER_INGEST_SOURCE_S3_URL" if source_url else "SOURCIER_S3_URL"
    parts = urlsplit(url)
    is_server = parts.scheme in DEFAULT_PORTS
    is_own = _canonical(url) == _canonical(own_url)
    for rule in rules.rules:
        # What is no server is one bucket; a folder has no name but what the first rule calls it.
        bucket = own_bucket if is_server else parts.netloc.partition("@")[0] or rules.rules[0].bucket
        if not is_server and rule.bucket != bucket:
            raise InvalidArgument(
                f"the bucket {rule.bucket!r} is watched, but {variable} is {parts.scheme}://"
                f"{parts.hostname or parts.path}, which is one bucket alone; name the watched bucket's own in "
                "SOURCIER_INGEST_SOURCE_S3_URL", field="bucket",
            )
        if is_own and rule.bucket == bucket and _holds_own(rule.prefix):
            raise InvalidArgument(
                f"the bucket {rule.bucket!r} is watched from {rule.prefix!r} on, where the service keeps files of its "
                f"own ({', '.join(OWN_PREFIXES)}), which would be taken in without an end; watch another bucket, or "
                "another prefix of it", field="prefix",
            )


def _canonical(url: str) -> str:
    """Return a store's URL as others that mean the same would be written, too."""
    parts = urlsplit(url)
    place = parts.netloc.lower().removesuffix(DEFAULT_PORTS.get(parts.scheme, ""))
    return parts._replace(netloc=place, path=parts.path.rstrip("/")).geturl()


def _holds_own(prefix: str) -> bool:
    return any(own.startswith(prefix) or prefix.startswith(own) for own in OWN_PREFIXES)
