"""What is watched of the buckets, as a message: each rule of a tenant, and how its objects stand."""

from __future__ import annotations

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.buckets.standing import Standing, standing_of
from sourcier.services.ingest.buckets.rules import BucketRule, BucketRules


async def list_watched(database: Database, rules: BucketRules, *, tenant: str) -> list[ingest_pb2.BucketSource]:
    """Return the tenant's rules in the order in which they are asked."""
    found = []
    for place, rule in enumerate(rules.rules):
        if rule.tenant != tenant:
            continue
        # The first rule whose prefix fits decides: its objects are not those of a later one.
        others = [other.prefix for other in rules.rules[:place] if other.bucket == rule.bucket]
        # A transaction for each: a bucket of a million objects is counted for seconds.
        async with database.transaction(tenant=tenant, read_only=True) as connection:
            standing = await standing_of(
                connection, tenant=tenant, bucket=rule.bucket, prefix=rule.prefix, others=others
            )
        found.append(_message(rule, standing))
    return found


def _message(rule: BucketRule, standing: Standing) -> ingest_pb2.BucketSource:
    message = ingest_pb2.BucketSource(
        bucket=rule.bucket, prefix=rule.prefix, collection=rule.collection, category=rule.category,
        include=rule.include, exclude=rule.exclude, size_bytes_max=rule.size_bytes_max,
        current_count=standing.current, waiting_count=standing.waiting, refused_count=standing.refused,
        errors=[ingest_pb2.BucketObject(key=key, error=error) for key, error in standing.errors],
        comparing=standing.comparing,
    )
    if standing.compared_at is not None:
        message.compared_at.FromDatetime(standing.compared_at)
    if standing.changed_at is not None:
        message.changed_at.FromDatetime(standing.changed_at)
    return message
