"""A release that knows nothing of what is read by rule commits too: beside a newer one, and once that was taken back.

What the newer one read of the version before says nothing of the version that answers now.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.index.acronyms import storing as acronyms
from sourcier.services.index.pipeline import commit_statements
from sourcier.services.index.times import storing as times
from sourcier.services.index.times.storing import SET_COLUMNS, STORE
from tests.integration.index.writer import Writer

OURS = [
    "Le règlement professionnel du notariat (RPN) entre en vigueur le 1er juin 2025.", "Fait à Lyon, le 12 mai 2025.",
]
THEIRS = ["The staff rules have no date.", "They apply to all of the staff."]
COLUMNS = """
select dated_from, holds_from, times_rules, acronym_rules, relations_found, language,
       (select count(*) from acronyms where acronyms.document_id = documents.document_id)
from documents where document_id = %s
"""
UNREAD = (None, None, 0, 0, False, None, 0)


def earlier_statement() -> str:
    """Return the switch to a version as a release before 0021 makes it."""
    statement = commit_statements.SWITCH_DOCUMENT.replace(f"with times as ({STORE}),\n", "with ")
    for known in (f"{SET_COLUMNS}, acronym_rules = %(acronym_rules)s,", "derived_version = version.version_id,"):
        assert known in statement
        statement = statement.replace(known, "")
    return re.sub(r"language = \(.*?\n {8}\),", "", statement, flags=re.DOTALL)


async def columns(writer: Writer, document_id: str) -> tuple[Any, ...]:
    async with writer.database.transaction(tenant=writer.tenant, read_only=True) as connection:
        row = await (await connection.execute(COLUMNS, (document_id,))).fetchone()
    assert row is not None
    return tuple(row)


async def test_what_was_read_of_the_version_before_is_forgotten_and_read_again(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = await writer.index("note.md", OURS)
    before = await columns(writer, version.document_id)
    assert before[2:] == (times.RULES, acronyms.RULES, False, "", 1)
    with monkeypatch.context() as earlier:
        earlier.setattr(commit_statements, "SWITCH_DOCUMENT", earlier_statement())
        assert (await writer.index("note.md", THEIRS)).document_id == version.document_id
    assert await columns(writer, version.document_id) == UNREAD
    async with writer.database.transaction(tenant=ALL_TENANTS) as connection:
        assert await times.read_more(connection, limit=10) == 1
        assert await acronyms.read_more(connection, limit=10) == 1
    assert await columns(writer, version.document_id) == (
        None, None, times.RULES, acronyms.RULES, False, None, 0
    )
    # What the newer release commits is told at once, and what it said of other documents stays.
    await writer.index("note.md", OURS)
    assert await columns(writer, version.document_id) == before
