"""Batches of embedded chunks, and the commit that makes a version visible in one transaction.

A batch is prepared outside of any transaction (analysing is the expensive part), then staged; whoever stages the last
one commits the version. Rows travel as one array per column: with row-level security PostgreSQL refuses COPY, and
this costs the same (0.17 ms a chunk with 10 KB of codes, without the lexical index; 0.5 ms with it).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from psycopg.types.json import Jsonb

from sourcier.services.chassis.errors import InvalidArgument, SpaceMismatch, Superseded
from sourcier.services.chassis.postgres.database import PLAN_EACH, Connection
from sourcier.services.chassis.postgres.types import HalfVector, half_vector, integer_array, text_array
from sourcier.services.index.acronyms import storing as acronyms
from sourcier.services.index.acronyms.recognition import Definition
from sourcier.services.index.collections.versions import VersionReference
from sourcier.services.index.identifiers.terms import passage_terms
from sourcier.services.index.language.analyser import analyse_passage
from sourcier.services.index.lexical.entries import SHOW_ALL_ENTRIES, LexicalEntry, lexeme, lexical_entry
from sourcier.services.index.pipeline import commit_statements as statements
from sourcier.services.index.spaces.partitions import ensure_partition
from sourcier.services.index.times import storing
from sourcier.services.index.times.reading import HEAD_CHARACTERS_MAX, TAIL_CHARACTERS_MAX
from sourcier.services.index.times.storing import Facts
from sourcier.services.index.units.commits import ADD_UNITS

VECTOR_BYTES_PER_DIMENSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedChunk:
    """A passage with its vectors."""

    chunk_id: str
    index: int
    text: str
    start_character: int
    end_character: int
    token_count: int
    vector: bytes
    """Float16, little-endian, L2 norm 1."""
    token_codes: bytes
    """Sign bits of the informative tokens' centred vectors, rows of dimension/8 bytes."""
    page: int = 0
    heading_path: tuple[str, ...] = ()
    language: str = ""
    kind: str = "text"
    place_map: bytes = b""
    """Where its text stands in the file, encoded; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Cut:
    """One cut of a version: all its batches belong together, and with those of no other cut."""

    digest: str
    """Of its passages and how they lie in batches: made again alike, it is the same cut."""
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some of a version's chunks."""

    version: VersionReference
    space_id: str
    batch_no: int
    batch_count: int
    title: str
    method: str
    chunks: tuple[IndexedChunk, ...]
    cut: Cut | None = None
    """None where whoever cut does not say: such a batch belongs to whatever is staged."""
    parser_version: str = ""
    """Of what read the text; empty where that is not known."""
    reading_warnings: str = ""
    """What was not read of it, as JSON; empty where nothing is to be told."""


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """A batch whose rows are ready to be sent."""

    batch: Batch
    entries: tuple[LexicalEntry, ...]
    vectors: tuple[HalfVector, ...]
    passages_with: Mapping[str, int]
    """How many of the passages hold each lexeme; empty for a part of a version, which the database adds up."""
    spelled: tuple[Definition, ...]
    """The acronyms that the passages spell out; empty for a part of a version, which is read once all are there."""


@dataclass(frozen=True, slots=True)
class Staging:
    """What became of a batch."""

    outcome: Literal["staged", "duplicate", "committed"]
    staged: int
    """Batches of the version staged so far."""
    chunk_count: int = 0
    """Chunks of the version, once it is committed."""


@dataclass(frozen=True, slots=True)
class _VersionState:
    state: str
    batch_count: int | None
    staged: int
    current_generation: int
    space_id: str
    dimension: int
    vectors_table: str
    held: bool
    """Whether the collection needs vectors of this space; else it was switched since, and the space given up."""
    vectors_tables: list[str]
    """Those of all spaces: the version before may have vectors in several."""
    partitioned: bool
    """Whether the tenant has its part of `vectors_table`."""
    failed_before: bool
    """Whether open dead letters tell of the document: they are written under its lock."""
    cut: str | None
    cut_at: datetime | None
    """Of what is staged, where that is known."""
    title: str
    """As it was sent; empty to take the text's own."""
    filename: str
    source: str
    metadata: Mapping[str, Any]
    set_dates: Mapping[str, Any] | None
    """Dates of the document that somebody set."""


def prepare(batch: Batch, *, collection_number: int) -> PreparedBatch:
    """Analyse a batch's text, about half a millisecond a chunk: call it in an executor, before the transaction.

    The title and the headings count as text of each passage.
    """
    if not 0 <= batch.batch_no < batch.batch_count:
        raise InvalidArgument(f"There is no batch {batch.batch_no} of {batch.batch_count}.", field="batch_no")
    entries = []
    passages_with: Counter[str] = Counter()
    for chunk in batch.chunks:
        analysis = analyse_passage(batch.title, *chunk.heading_path, chunk.text, language=chunk.language)
        terms = passage_terms(batch.title, chunk.heading_path, chunk.text)
        entries.append(lexical_entry(analysis, collection_number=collection_number, identifier_terms=terms))
        if batch.batch_count == 1:
            passages_with.update((*analysis.frequencies, *terms))
    return PreparedBatch(
        batch, tuple(entries), tuple(half_vector(chunk.vector) for chunk in batch.chunks),
        {lexeme(stem, collection_number=collection_number): count for stem, count in passages_with.items()},
        acronyms.spelled_out(batch.title, ((chunk.heading_path, chunk.text) for chunk in batch.chunks))
        if batch.batch_count == 1 else (),
    )


async def collection_number(connection: Connection, *, tenant: str, collection_id: str) -> int:
    """Return the number that marks a collection's lexemes; raise `Superseded` where the collection was deleted."""
    cursor = await connection.execute(statements.SELECT_NUMBER, (tenant, collection_id))
    row = await cursor.fetchone()
    if row is None:
        raise Superseded("The collection was deleted.")
    return int(row[0])


async def stage_batch(
    connection: Connection, prepared: PreparedBatch, *, stage_ages: Mapping[str, float] | None = None,
    all_there: Callable[[], None] | None = None,
) -> Staging:
    """Stage a batch, and commit its version if it was the last one missing; in the caller's transaction.

    `stage_ages`: how many seconds ago the job came to stages that are not noted yet; a commit notes them.
    `all_there` is called when the last of several batches is there, before the commit, which may take minutes.

    Raises `Superseded` where the document was deleted or a newer version took this one's place, `SpaceMismatch` where
    the vectors are not of the version's space. A batch that was staged before changes nothing. Of another cut than what
    is staged, it takes the place of that if it was made later, as by a parser or a chunker of a newer version, and
    changes nothing otherwise.
    """
    batch = prepared.batch
    values = _batch_values(batch)
    state = await _lock(connection, values)
    if state.state == "committed":
        return Staging("duplicate", state.staged)
    _check(batch, state)
    if batch.cut is not None and state.cut not in (None, batch.cut.digest):
        assert state.cut_at is not None
        if batch.cut.made_at <= state.cut_at:
            return Staging("duplicate", state.staged)
        for statement in statements.DROP_STAGED:
            await connection.execute(statement, values)
        state = replace(state, batch_count=None, staged=0)
    if state.batch_count is not None and state.batch_count != batch.batch_count:
        message = f"The version has {state.batch_count} batches, not {batch.batch_count}."
        raise InvalidArgument(message, field="batch_count")
    if batch.batch_count > 1:
        cursor = await connection.execute(statements.STAGE_BATCH, values)
        if cursor.rowcount == 0:
            return Staging("duplicate", state.staged)
    # A version of one batch is committed with it: its state, read under the lock, is what tells a second delivery.
    staged = state.staged + 1
    if staged < batch.batch_count:
        await connection.execute(statements.STAGE_CHUNKS, _columns(prepared))
        return Staging("staged", staged)
    if all_there is not None and batch.batch_count > 1:
        all_there()
    values["stage_ages"] = Jsonb(dict(stage_ages or {}))
    return Staging("committed", staged, await _commit(connection, prepared, state, values))


async def _lock(connection: Connection, values: dict[str, Any]) -> _VersionState:
    """Lock the document, which covers all below it, and read the version afterwards, as it is now."""
    # Sent together, and a statement each: the second sees what was committed while the first waited for the lock.
    async with connection.pipeline():
        locked = await connection.execute(statements.LOCK_DOCUMENT, values)
        selected = await connection.execute(statements.SELECT_VERSION, values)
    found, row = await locked.fetchone(), await selected.fetchone()
    if found is None:
        raise Superseded("The document was deleted.")
    if row is None:
        raise Superseded("The version does not exist any more.")
    return _VersionState(*row)


def _check(batch: Batch, state: _VersionState) -> None:
    if state.state == "superseded" or batch.version.generation <= state.current_generation:
        raise Superseded("A newer version of the document took this one's place.")
    if batch.space_id != state.space_id:
        message = f"The batch is of the space {batch.space_id}, the version of {state.space_id}."
        raise SpaceMismatch(message)
    if any(len(chunk.vector) != state.dimension * VECTOR_BYTES_PER_DIMENSION for chunk in batch.chunks):
        raise SpaceMismatch(f"The space {state.space_id} has vectors of {state.dimension} dimensions.")


async def _commit(
    connection: Connection, prepared: PreparedBatch, state: _VersionState, values: dict[str, Any]
) -> int:
    """Put the version in the place of the one before it; return its number of chunks."""
    batch = prepared.batch
    version = batch.version
    if state.held and not state.partitioned:
        await ensure_partition(connection, vectors_table=state.vectors_table, tenant=version.tenant)
    split = batch.batch_count > 1
    values |= await _times(connection, batch, state)
    values |= acronyms.columns(prepared.spelled, title=_title(batch, state), is_whole=not split)
    async with connection.pipeline():
        if split or state.current_generation > 0:
            await connection.execute(statements.TAKE_TIME)
            await connection.execute(SHOW_ALL_ENTRIES)
        # Rows are there since a version was committed: before the first one there is nothing to take away.
        if state.current_generation > 0:
            # Vectors lie in a part for each tenant, all of which a plan for any of them would lock.
            await connection.execute(PLAN_EACH)
            await _remove_visible(connection, state, values)
        if split:
            await _move_staged(connection, state, values)
        if batch.chunks:
            # Of several batches, the lexemes are counted where all of them are: in the database.
            await connection.execute(
                statements.insert_into(state.vectors_table if state.held else "", counted=not split),
                _columns(prepared) | _frequencies(prepared),
            )
        if split:
            await connection.execute(statements.RECORD_ADDED_LEXEMES, values)
        switched = await connection.execute(statements.SWITCH_DOCUMENT, values)
        for statement in _after_switch(version, state, split=split):
            await connection.execute(statement, values)
        looked = await connection.execute(statements.LOOK_AT_COLLECTION, values)
    row, collection = await switched.fetchone(), await looked.fetchone()
    # Whoever begins to build a space or units for the collection does not lock each document: looked at last.
    assert collection is not None
    for needed, statement in zip(collection, (statements.NOTE_GAP, ADD_UNITS), strict=True):
        if needed:
            await connection.execute(statement, values)
    return 0 if row is None else int(row[0])


async def _ends(connection: Connection, batch: Batch) -> tuple[str, str]:
    """Return the beginning of the version's first chunk and the end of another last one; empty where there is none."""
    texts = [chunk.text for chunk in (*batch.chunks[:1], *batch.chunks[1:][-1:])]
    if batch.batch_count == 1:
        return storing.ends_of(texts)
    # The batch is one of several: where it has the first or the last chunk, these are not staged.
    cursor = await connection.execute(storing.SELECT_STAGED_ENDS, {
        "version_id": batch.version.version_id, "head": HEAD_CHARACTERS_MAX, "tail": TAIL_CHARACTERS_MAX,
    })
    row = await cursor.fetchone()
    assert row is not None
    head = storing.ends_of(texts)[0] if batch.batch_no == 0 else row[0] or ""
    last = batch.batch_no == batch.batch_count - 1
    return head, texts[-1][-TAIL_CHARACTERS_MAX:] if last and texts else row[1] or ""


def _title(batch: Batch, state: _VersionState) -> str:
    return batch.title or state.title or state.filename


async def _times(connection: Connection, batch: Batch, state: _VersionState) -> dict[str, Any]:
    """Return what the version tells of when it holds, as the switch stores it."""
    head, tail = await _ends(connection, batch)
    facts = Facts(
        title=_title(batch, state), filename=state.filename, source=state.source,
        metadata=state.metadata, set_dates=state.set_dates, head=head, tail=tail,
    )
    return storing.columns(await asyncio.to_thread(facts.read), state.set_dates)


def _after_switch(version: VersionReference, state: _VersionState, *, split: bool) -> list[str]:
    """Return the statements that end a commit; those that would find nothing to do are left out.

    What they look for is tied to the document by those who hold its lock, so that what was read under it still holds.
    """
    # Of several batches they are read once all are there, by upkeep.
    chosen: list[str] = [acronyms.FORGET] if state.current_generation > 0 else []
    if not split:
        chosen.append(acronyms.STORE)
    if split or version.generation > 1:
        chosen += statements.OF_STAGED
    if version.generation > 1:
        chosen.append(statements.SUPERSEDE_OLDER)
    if state.failed_before:
        chosen.append(statements.CLOSE_DEAD_LETTERS)
    if state.current_generation > 0:
        chosen += statements.OF_VISIBLE
    return chosen


async def _move_staged(connection: Connection, state: _VersionState, values: dict[str, Any]) -> None:
    for statement in (statements.MOVE_CHUNKS, statements.MOVE_ENTRIES):
        await connection.execute(statement, values)
    if state.held:
        await connection.execute(statements.of_table(statements.MOVE_VECTORS, state.vectors_table), values)


async def _remove_visible(connection: Connection, state: _VersionState, values: dict[str, Any]) -> None:
    await connection.execute(statements.RECORD_REMOVED_LEXEMES, values)
    for table in state.vectors_tables:
        await connection.execute(statements.of_table(statements.DELETE_VECTORS, table), values)
    await connection.execute(statements.DELETE_ENTRIES, values)
    await connection.execute(statements.DELETE_CHUNKS, values)


def _batch_values(batch: Batch) -> dict[str, Any]:
    version = batch.version
    return {
        "tenant": version.tenant,
        "collection_id": version.collection_id,
        "document_id": version.document_id,
        "version_id": version.version_id,
        "generation": version.generation,
        "job_id": version.job_id,
        "space_id": batch.space_id,
        "batch_no": batch.batch_no,
        "batch_count": batch.batch_count,
        "title": batch.title,
        "method": batch.method,
        "cut": None if batch.cut is None else batch.cut.digest,
        "cut_at": None if batch.cut is None else batch.cut.made_at,
        "parser_version": batch.parser_version,
        "reading_warnings": batch.reading_warnings,
    }


def _frequencies(prepared: PreparedBatch) -> dict[str, Any]:
    """Return lexemes and counts as lines: lexemes hold no white space, and one string is read faster than many."""
    return {
        "passages": len(prepared.batch.chunks),
        "counted_lexemes": "\n".join(prepared.passages_with),
        "lexeme_counts": "\n".join(map(str, prepared.passages_with.values())),
    }


def _columns(prepared: PreparedBatch) -> dict[str, Any]:
    """Return the batch's values with one array per column."""
    chunks: Sequence[IndexedChunk] = prepared.batch.chunks
    return _batch_values(prepared.batch) | {
        "chunk_ids": [chunk.chunk_id for chunk in chunks],
        "indexes": integer_array([chunk.index for chunk in chunks]),
        "kinds": text_array([chunk.kind for chunk in chunks]),
        "languages": text_array([chunk.language for chunk in chunks]),
        "pages": integer_array([chunk.page for chunk in chunks]),
        "starts": integer_array([chunk.start_character for chunk in chunks]),
        "ends": integer_array([chunk.end_character for chunk in chunks]),
        "token_counts": integer_array([chunk.token_count for chunk in chunks]),
        "heading_paths": text_array([json.dumps(chunk.heading_path, ensure_ascii=False) for chunk in chunks]),
        "texts": text_array([chunk.text for chunk in chunks]),
        "place_maps": [chunk.place_map or None for chunk in chunks],
        "lexemes": [entry.lexemes for entry in prepared.entries],
        "terms": [entry.terms for entry in prepared.entries],
        "vectors": list(prepared.vectors),
        "token_codes": [chunk.token_codes for chunk in chunks],
    }
