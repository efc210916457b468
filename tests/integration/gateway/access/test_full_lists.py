"""Every list, filled with the largest that may be stored, is read to its end by a client of gRPC's own limits.

The lists are those of the descriptors whose requests have a page token: one that is added fails here until it is
filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from sourcier.services.gateway.access.principal import Role
from tests.integration.gateway.access.test_matrix import METHODS, TENANT, World, filled, world

__all__ = ["world"]

MESSAGE_BYTES_MAX = 4 * 1024**2
"""What a gRPC client takes unless it is told otherwise."""
LISTS = sorted(
    name for name, method in METHODS.items() if "page_token" in method.input_type.fields_by_name
)
KEY = "(select 'key:' || key_id from api_keys where name = 'operator')"


@dataclass(frozen=True)
class Full:
    """How a list is filled: copies of one row of a table, with columns that differ or are as long as they may be."""

    table: str
    rows: int
    columns: dict[str, str]
    """An expression for each, over `n`, the number of the copy."""
    after: tuple[str, ...] = ()
    """Statements that fill what belongs to the copies."""


def text(characters: int) -> str:
    """Return an expression for so many characters of four bytes each, no two alike."""
    return f"lpad(n::text, 6, '0') || repeat('🦆', {characters - 6})"


METADATA = "(select jsonb_object_agg(lpad(k::text, 64, 'k'), repeat('🦆', 48)) from generate_series(1, 63) k)"
NEW_ID = "gen_random_uuid()"
FULL = {
    "ListKeys": Full("api_keys", 1_100, {
        "key_id": "lpad(n::text, 12, '0')", "name": text(200), "secret_sha256": "sha256(n::text::bytea)",
        "recency": NEW_ID, "created_by": text(300)}),
    "ListGrants": Full("grants", 1_100, {"grant_id": NEW_ID, "grantee": f"'user:' || {text(280)}",
                                         "granted_by": text(300)}),
    "ListConversations": Full("conversations", 1_100, {
        "conversation_id": NEW_ID, "recency": NEW_ID, "title": text(200), "owner": KEY}),
    "ListMessages": Full("messages", 60, {
        "message_id": NEW_ID, "position": "n + 100", "content": text(50_000), "answer_id": NEW_ID}),
    "ListAgents": Full("agents", 60, {
        "agent_id": NEW_ID, "name": text(200), "description": text(2_000),
        "categories": f"(select jsonb_agg({text(200)} || k) from generate_series(1, 100) k)"}),
    "ListDeployments": Full("deployments", 60, {
        "deployment_id": NEW_ID, "name": text(200),
        "overlay": "(select jsonb_object_agg(k::text, repeat('🦆', 1000)) from generate_series(1, 64) k)"}),
    "ListFaqEntries": Full("learned_responses", 80, {
        "response_id": NEW_ID, "question": text(2_000), "question_key": text(500), "answer": text(20_000),
        "category": text(500), "source": text(500), "validated_by": text(500)}),
    "ListUnits": Full("units", 6, {
        "unit_id": NEW_ID, "chunk_index": "n + 100", "summary": text(2_000)}, (
        "insert into unit_pairs (pair_id, unit_id, tenant, place, question, answer) select gen_random_uuid(), unit_id, "
        "tenant, n + 1, repeat('🦆', 2000), repeat('🦆', 5000) from units, generate_series(1, 49) n "
        "where chunk_index > 100",)),
    "ListCollections": Full("collections", 1_100, {"collection_id": NEW_ID, "number": "n + 1000", "name": text(200)}),
    "ListDocuments": Full("documents", 250, {
        "document_id": NEW_ID, "source": text(500), "title": text(1_000), "filename": text(1_000),
        "category": text(1_000), "content_type": text(1_000), "metadata": METADATA, "source_root": text(128)}),
    "ListJobs": Full("jobs", 1_100, {
        "job_id": NEW_ID, "filename": text(1_000), "error_message": text(1_000), "status": "'failed'",
        "document_id": NEW_ID}),
    "ListFailures": Full("dead_letters", 1_100, {
        "dead_letter_id": NEW_ID, "message": text(1_000), "payload": "n::text::bytea", "reason": text(100)}),
}


def test_every_list_is_filled() -> None:
    assert {name.rpartition("/")[2] for name in LISTS} == FULL.keys()


async def fill(world: World, full: Full) -> None:
    """Copy a row of what is there as often as is said."""
    differing = ", ".join(f"'{column}', {value}" for column, value in full.columns.items())
    statement = (
        f"insert into {full.table} overriding system value "
        f"select copied.* from {full.table} as original, generate_series(1, {full.rows}) as n, "
        f"jsonb_populate_record(null::{full.table}, to_jsonb(original) || jsonb_build_object({differing})) as copied "
        f"where original.ctid = (select min(ctid) from {full.table})"
    )
    async with world.database.transaction(tenant=TENANT) as connection:
        await connection.execute(f"update conversations set owner = {KEY}".encode())
        for each in (statement, *full.after):
            await connection.execute(each.encode())


async def test_every_list_is_read_to_its_end(world: World) -> None:
    for method in LISTS:
        full = FULL[method.rpartition("/")[2]]
        await fill(world, full)
        request: Any = filled(method, world.granted)
        request.page_size = 1_000
        for name in ("collection", "document_id", "agent", "grantee", "name"):  # nothing is left out
            if name in request.DESCRIPTOR.fields_by_name:
                request.ClearField(name)
        pages = await read(world, method, request)
        assert sum(len(_items(page)) for page in pages) > full.rows, method  # with the row that was copied
        assert len(pages) > 1, method
        assert max(page.ByteSize() for page in pages) < MESSAGE_BYTES_MAX, method


async def read(world: World, method: str, request: Any) -> list[Any]:
    """Return all pages of a list, as a client that follows its tokens."""
    pages: list[Any] = []
    while not pages or pages[-1].next_page_token:
        code, told, answered = await world.call(method, request, Role.OPERATOR)
        assert code == "OK", f"{method}: {told}"
        pages += answered
        request.page_token = pages[-1].next_page_token
    return pages


def _items(page: Message) -> Any:
    (items,) = (getattr(page, known.name) for known in page.DESCRIPTOR.fields
                if known.is_repeated and known.message_type is not None)
    return items
