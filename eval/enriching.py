"""What it costs to have a real language model read documents for an agent: time, tokens, and what came of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from eval.reporting import report
from eval.retrieval.retrieval import Progress
from eval.sets.corpus import ingest_files
from eval.system import System
from sourcier import Client
from sourcier.errors import AlreadyExists
from sourcier.gateway.v1 import curation_pb2

COLLECTION = AGENT = "eval-enriching"
LOOK_SECONDS = 2.0
SECONDS_MAX = 3_600.0
_STATES = {
    curation_pb2.UNIT_STATE_WAITING: "waiting", curation_pb2.UNIT_STATE_ENRICHED: "enriched",
    curation_pb2.UNIT_STATE_NO_PAIRS: "no pairs", curation_pb2.UNIT_STATE_FAILED: "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A chunk that the model has read."""

    document: str
    """Its title."""
    state: str
    reason: str
    pairs: int
    prompt_tokens: int
    completion_tokens: int
    ended_at: float
    """Seconds since the epoch."""


async def measure_enriching(system: System, documents: Sequence[Path], *, document: Path | None, command: str) -> None:
    """Ingest documents, have the model read them, wait for it, and report. Ask nothing meanwhile: people go first.

    A run that is cut off goes on where the service is when it is run again; the time is then that of what was left.
    """
    async with Client(system.gateway) as client:
        await ingest_files(client, documents, collection=COLLECTION)
        began_at = time.time()
        with contextlib.suppress(AlreadyExists):
            await client.create_agent(AGENT, collection=COLLECTION)
        read = await _read(client)
    body = "\n\n".join([
        "### What reading documents for an agent costs", costs_table(read, began_at=began_at),
        report.provenance(system=system.described_with_model, command=command),
    ])
    click.echo(body)
    if document is not None:
        report.write_block(document, "enriching", body)


async def _read(client: Client) -> list[Read]:
    """Wait until no chunk is left; return them in the order they were read in."""
    progress = Progress("chunks read")
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            index = await client.agent_index(AGENT)
            units = [unit async for unit in client.units(agent=AGENT)]
            waiting = sum(unit.state == curation_pb2.UNIT_STATE_WAITING for unit in units)
            progress(len(units) - waiting, len(units))
            planned = index.live.planned or index.building.planned
            if units and planned and not waiting:
                return sorted(map(_of, units), key=lambda each: each.ended_at)
            await asyncio.sleep(LOOK_SECONDS)


def _of(unit: curation_pb2.Unit) -> Read:
    return Read(
        document=unit.title, state=_STATES[unit.state], reason=unit.reason, pairs=len(unit.pairs),
        prompt_tokens=unit.prompt_tokens, completion_tokens=unit.completion_tokens,
        ended_at=unit.updated_at.ToMicroseconds() / 1e6,
    )


def costs_table(read: Sequence[Read], *, began_at: float) -> str:
    """Return by document what its chunks cost; `read` in the order they were read in, one at a time.

    A chunk's time is what lies between its end and that of the one before it, its waiting and its queue included.
    """
    seconds = [each.ended_at - before for each, before in
               zip(read, (began_at, *(each.ended_at for each in read)), strict=False)]
    rows: list[tuple[str, ...]] = [
        ("document", "chunks", "with questions", "questions", "tokens read", "tokens written", "seconds"),
    ]
    for title in dict.fromkeys(each.document for each in read):
        rows.append(_row(title, [(each, spent) for each, spent in zip(read, seconds, strict=True)
                                 if each.document == title]))
    rows.append(_row("**all**", list(zip(read, seconds, strict=True))))
    counts = Counter(f"{each.state}{f' ({each.reason})' if each.reason else ''}" for each in read)
    ordered = sorted(seconds)
    return (
        f"{report.markdown_table(rows)}\n\nA chunk takes {ordered[len(ordered) // 2]:.0f} s at the median, "
        f"{ordered[-1]:.0f} s at most, one after the other. "
        f"{', '.join(f'{name} {count}' for name, count in counts.most_common())}."
    )


def _row(title: str, read: Sequence[tuple[Read, float]]) -> tuple[str, ...]:
    chunks = [each for each, _ in read]
    return (
        title, str(len(chunks)), str(sum(each.state == "enriched" for each in chunks)),
        str(sum(each.pairs for each in chunks)), f"{sum(each.prompt_tokens for each in chunks):,}",
        f"{sum(each.completion_tokens for each in chunks):,}", f"{sum(spent for _, spent in read):.0f}",
    )
