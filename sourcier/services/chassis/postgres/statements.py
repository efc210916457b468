"""Statements as steps of a trace: by what they do and to which table, never with the values that they are given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, Self, cast

from psycopg import AsyncCursor
from psycopg.abc import Params, Query
from psycopg.rows import TupleRow

from sourcier.services.chassis.tracing import spans
from sourcier.services.chassis.tracing.spans import NO_SPAN, Span

LOOKED_AT_MAX = 4_096
"""Characters of a statement that are read for its name."""
SUMMARIES_MAX = 256
_QUOTED = re.compile(r"'[^']*(?:'|$)")
_VERB = re.compile(r"\b(?:select|insert|update|delete|copy|begin|set|create|alter|analyze|vacuum|notify|lock)\b",
                   re.IGNORECASE)
_TABLE = re.compile(r"\b(?:from|into|update|table|analyze)\s+([a-z_][a-z0-9_.]*)", re.IGNORECASE)
_NOTHING = nullcontext(NO_SPAN)


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


def _step(query: Query) -> AbstractContextManager[Span]:
    if not spans.current().recorded:
        return _NOTHING
    summary = summary_of(query) if isinstance(query, (str, bytes)) else "statement"
    return spans.span(summary, kind="client", attributes={"db.system.name": "postgresql", "db.query.summary": summary})


def summary_of(query: str | bytes) -> str:
    """Return a statement's verb and its first table."""
    begun = query[:LOOKED_AT_MAX]
    text = begun.decode("utf-8", "replace") if isinstance(begun, bytes) else begun
    # What begins a transaction has its tenant in it: such statements are one for all of them, and no value is kept.
    return _summary(_QUOTED.sub("''", text))


@lru_cache(maxsize=SUMMARIES_MAX)
def _summary(text: str) -> str:
    verb, table = _VERB.search(text), _TABLE.search(text)
    return " ".join(filter(None, (verb.group().lower() if verb else "statement", table.group(1) if table else "")))
