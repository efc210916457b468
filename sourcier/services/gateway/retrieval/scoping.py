"""Where a question is searched for: the collections by name, and whether their documents have what its filter asks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from sourcier.services.chassis.errors import DeadlineExceeded, InvalidArgument
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.gateway.retrieval.query import Query
from sourcier.services.index.collections.collections import names_with_documents
from sourcier.services.index.documents.titles import NamedDocument, find_named
from sourcier.services.index.filtering.checking import check_condition, check_fields
from sourcier.services.index.search.facets import matches_any
from sourcier.services.index.search.value_counts import ValueCounts, check_asked, count_values

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
            async with self._reading(query, deadline, late="what the filter names could not be looked up in time") \
                    as connection:
                if everything:
                    found = await names_with_documents(connection, tenant=query.tenant, limit=COLLECTIONS_MAX + 1)
                    names = found or names
                _check_count(names)
                if where is not None:
                    await check_condition(
                        connection, tenant=query.tenant, collections=names, condition=where.condition
                    )
        _check_count(names)
        return replace(query, collection=names[0], others=tuple(names[1:]))

    async def named(self, query: Query, *, name: str, deadline: Deadline) -> NamedDocument | None:
        """Return the document of an id or a name, of the question's collections first; None where there is none."""
        async with self._reading(query, deadline, late="the document was not found in time; name it by its id") \
                as connection:
            return await find_named(connection, tenant=query.tenant, name=name, collections=query.collections)

    async def meets(self, query: Query, *, deadline: Deadline) -> bool:
        """Return whether any document meets the question's filter."""
        async with self._reading(query, deadline, late="the filter was not looked at in time") as connection:
            return await matches_any(
                connection, tenant=query.tenant, collections=query.collections, filters=query.filters
            )

    async def count_values(
        self, query: Query, *, fields: Sequence[str], limit: int, deadline: Deadline
    ) -> ValueCounts:
        """Return how many documents that meet the filter have which values."""
        check_asked(fields, limit=limit)
        late = "the values were not counted in time; name fewer fields, or narrow the filter"
        async with self._reading(query, deadline, late=late) as connection:
            await check_fields(connection, tenant=query.tenant, collections=query.collections, names=fields)
            return await count_values(
                connection, tenant=query.tenant, collections=query.collections, filters=query.filters, fields=fields,
                limit=limit,
            )

    @asynccontextmanager
    async def _reading(self, query: Query, deadline: Deadline, *, late: str) -> AsyncIterator[Connection]:
        """Lend a connection for as long as a look-up may take; raise `DeadlineExceeded` with `late` after that."""
        try:
            async with (
                asyncio.timeout(deadline.remaining(self._seconds_max)),
                self._database.transaction(tenant=query.tenant, read_only=True) as connection,
            ):
                yield connection
        except TimeoutError as error:
            raise DeadlineExceeded(late) from error


def _check_count(names: Sequence[str]) -> None:
    if len(names) > COLLECTIONS_MAX:
        raise InvalidArgument(
            f"At most {COLLECTIONS_MAX} collections are searched together, and these are more; name fewer.",
            field="filter.collections",
        )
