"""Where an installation keeps what it has: its database and its buckets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import check_schema_name

NEEDED = ("SOURCIER_POSTGRES_URL", "SOURCIER_S3_URL", "SOURCIER_S3_BUCKET")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A database, and the buckets whose objects are ours."""

    postgres_url: str = field(repr=False)
    schema: str
    dump_url: str = field(default="", repr=False)
    """The database as a role that bypasses row-level security, to which no row is hidden; for back-ups alone."""
    buckets: Mapping[str, ObjectStore]

    @classmethod
    def of(cls, environment: Mapping[str, str], *, further_buckets: tuple[str, ...]) -> Self:
        """Find it by the variables that services get."""
        if missing := [name for name in NEEDED if not environment.get(name)]:
            raise FailedPrecondition(f"{', '.join(missing)} is not set: nothing tells where the data are.")
        schema = environment.get("SOURCIER_SCHEMA") or "sourcier"
        check_schema_name(schema)
        names = dict.fromkeys((environment["SOURCIER_S3_BUCKET"], *further_buckets))
        return cls(postgres_url=environment["SOURCIER_POSTGRES_URL"], schema=schema, buckets={
            name: ObjectStore.open(
                url=environment["SOURCIER_S3_URL"], bucket=name,
                access_key=environment.get("SOURCIER_S3_ACCESS_KEY", ""),
                secret_key=environment.get("SOURCIER_S3_SECRET_KEY", ""),
                region=environment.get("SOURCIER_S3_REGION") or "us-east-1",
            ) for name in names
        })
