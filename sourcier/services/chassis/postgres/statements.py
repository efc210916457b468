"""Statements as steps of a trace: by what they do and to which table, never with the values that they are given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Self, cast

from psycopg import AsyncCursor
from psycopg.abc import Params, Query
from psycopg.rows import TupleRow

from sourcier.services.chassis.tracing import spans

LOOKED_AT_MAX = 4_096
"""Characters of a statement that are read for its name."""
_VERB = re.compile(r"\b(?:select|insert|update|delete|copy|begin|set|create|alter|analyze|vacuum|notify|lock)\b",
                   re.IGNORECASE)
_TABLE = re.compile(r"\b(?:from|into|update|table|analyze)\s+([a-z_][a-z0-9_.]*)", re.IGNORECASE)


class TracedCursor(AsyncCursor[TupleRow]):
    """A cursor whose statements are steps of the trace under way."""

    async def execute(
        self, query: Any, params: Params | None = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        """Run a statement, of any kind that psycopg takes."""
        with _step(query):
            # Its overloads tell templates, which take no values, from the other forms of a query.
            return await super().execute(cast(Any, query), params, prepare=prepare, binary=binary)

    async def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        """Run a statement once for each of several sets of values."""
        with _step(query):
            await super().executemany(query, params_seq, returning=returning)


def _step(query: Query) -> Any:
    summary = summary_of(query) if isinstance(query, (str, bytes)) else "statement"
    return spans.span(summary, kind="client", attributes={"db.system.name": "postgresql", "db.query.summary": summary})


@lru_cache(maxsize=1024)
def summary_of(query: str | bytes) -> str:
    """Return a statement's verb and its first table."""
    text = (query[:LOOKED_AT_MAX].decode("utf-8", "replace") if isinstance(query, bytes) else query[:LOOKED_AT_MAX])
    verb, table = _VERB.search(text), _TABLE.search(text)
    return " ".join(filter(None, (verb.group().lower() if verb else "statement", table.group(1) if table else "")))
