"""Where a question is searched for: the collections by name, and whether their documents have what its filter asks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from sourcier.services.chassis.errors import DeadlineExceeded, InvalidArgument
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.retrieval.retriever import Query
from sourcier.services.index.collections.collections import names_with_documents
from sourcier.services.index.documents.titles import NamedDocument, find_named
from sourcier.services.index.filtering.checking import check_condition, check_fields
from sourcier.services.index.search.facets import matches_any
from sourcier.services.index.search.value_counts import ValueCounts, count_values

COLLECTIONS_MAX = 100
"""Searched together: each has its own words in the lexical index."""


class Scoping:
    """Looks up what a question's filter names, before anything is searched."""

    def __init__(self, database: Database, *, seconds_max: float) -> None:
        self._database = database
        self._seconds_max = seconds_max

    async def scoped(self, query: Query, *, others: Sequence[str], everything: bool, deadline: Deadline) -> Query:
        """Return the question within the collections that are named beside its own, or all that hold documents.

        Raises `InvalidArgument` where those are too many, and for a condition that their documents cannot meet.
        """
        names = list(dict.fromkeys([query.collection, *others]))
        where = query.filters.where
        if everything or where is not None:
            try:
                async with (
                    asyncio.timeout(deadline.remaining(self._seconds_max)),
                    self._database.transaction(tenant=query.tenant, read_only=True) as connection,
                ):
                    if everything:
                        found = await names_with_documents(
                            connection, tenant=query.tenant, limit=COLLECTIONS_MAX + 1
                        )
                        names = found or names
                    _check_count(names)
                    if where is not None:
                        await check_condition(
                            connection, tenant=query.tenant, collections=names, condition=where.condition
                        )
            except TimeoutError as error:
                raise DeadlineExceeded("what the filter names could not be looked up in time") from error
        _check_count(names)
        return replace(query, collection=names[0], others=tuple(names[1:]))

    async def named(self, query: Query, *, name: str, deadline: Deadline) -> NamedDocument | None:
        """Return the document of an id or a name, of the question's collections first; None where there is none."""
        try:
            async with (
                asyncio.timeout(deadline.remaining(self._seconds_max)),
                self._database.transaction(tenant=query.tenant, read_only=True) as connection,
            ):
                return await find_named(connection, tenant=query.tenant, name=name, collections=query.collections)
        except TimeoutError as error:
            raise DeadlineExceeded("the document was not found in time; name it by its id") from error

    async def meets(self, query: Query, *, deadline: Deadline) -> bool:
        """Return whether any document meets the question's filter."""
        try:
            async with (
                asyncio.timeout(deadline.remaining(self._seconds_max)),
                self._database.transaction(tenant=query.tenant, read_only=True) as connection,
            ):
                return await matches_any(
                    connection, tenant=query.tenant, collections=query.collections, filters=query.filters
                )
        except TimeoutError as error:
            raise DeadlineExceeded("the filter was not looked at in time") from error

    async def count_values(
        self, query: Query, *, fields: Sequence[str], limit: int, deadline: Deadline
    ) -> ValueCounts:
        """Return how many documents that meet the filter have which values."""
        async def counted() -> ValueCounts:
            async with self._database.transaction(tenant=query.tenant, read_only=True) as connection:
                await check_fields(
                    connection, tenant=query.tenant, collections=query.collections, names=fields
                )
                return await count_values(
                    connection, tenant=query.tenant, collections=query.collections, filters=query.filters,
                    fields=fields, limit=limit,
                )

        try:
            async with asyncio.timeout(deadline.remaining(self._seconds_max)):
                return await counted()
        except TimeoutError as error:
            raise DeadlineExceeded("the values were not counted in time; name fewer fields, or narrow the filter") \
                from error


def _check_count(names: Sequence[str]) -> None:
    if len(names) > COLLECTIONS_MAX:
        raise InvalidArgument(
            f"At most {COLLECTIONS_MAX} collections are searched together, and these are more; name fewer.",
            field="filter.collections",
        )
