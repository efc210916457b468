"""Where the time of ingestion goes: processor time by part, time in hand by stage, and the functions of the path bare.

No model runs (the embed service's null engine): a model takes nine tenths, and hides the rest.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bench import metrics
from bench.environment import running_stack
from bench.ingestion.contestants import packaged_model
from bench.ingestion.growth import NULL_STACK
from bench.ingestion.ingestion import edition, load
from bench.measuring import Table
from bench.processes import usage
from bench.texts import sheets
from sourcier.client import Client
from sourcier.services.chassis.models.store import NULL_PRECISION, ModelStore
from sourcier.services.embed.encoder import Encoder
from sourcier.services.embed.engines import open_engine
from sourcier.services.index.language.analyser import analyse_passage
from sourcier.services.index.language.recognition import detect
from sourcier.services.index.lexical.entries import lexical_entry
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.chunking.cutting import cut
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.plain import parse_text
from sourcier.services.ingest.tokens import TokenCounter

STAGES = ("parse", "chunk", "embed", "index")
BATCH_TEXTS = 4
T = TypeVar("T")


async def run(*, quick: bool) -> list[Table]:
    """Ingest the sheets a few times, then run the same functions alone."""
    wall = Table("ingestion without a model", "ms a chunk", higher_is_better=False)
    parts = Table("processor time by part", "ms a chunk", higher_is_better=False)
    stages = Table("time in hand by stage", "ms a chunk", higher_is_better=False)
    listening = metrics.endpoints()
    files, origin = sheets()
    if quick:
        files = files[::2]
    async with running_stack(**NULL_STACK, **listening) as addresses:
        async with Client(addresses["SOURCIER_GATEWAY_URL"]) as client:
            for number in range(3 if quick else 8):
                await client.create_collection(f"edition{number}")
                with tempfile.TemporaryDirectory() as folder:
                    copies = edition(files, Path(folder), number)
                    used, told, own = usage(addresses), await metrics.read(listening), time.process_time()
                    started = time.perf_counter()
                    chunks = await load(client, copies, collection=f"edition{number}")
                    seconds, own = time.perf_counter() - started, time.process_time() - own
                if number == 0:
                    continue
                wall.add("everything but the model", 1000 * seconds / chunks)
                for part, taken in usage(addresses).items():
                    parts.add(part, 1000 * (taken.cpu_seconds - used[part].cpu_seconds) / chunks)
                parts.add("client", 1000 * own / chunks)
                now = await metrics.read(listening)
                for stage in STAGES:
                    name = f"sourcier_message_seconds_sum{{{stage}}}"
                    # Texts that are cut where they are read have no message of that stage.
                    stages.add(stage, 1000 * (now.get(name, 0.0) - told.get(name, 0.0)) / chunks)
    wall.notes["everything but the model"] = f"{len(files)} files of {origin}, {chunks} chunks, no HNSW"
    wall.limit("everything but the model", at_most=2.0)
    return [wall, parts, stages, _bare(rounds=1 if quick else 5)]


def _bare(*, rounds: int) -> Table:
    """Time the functions that the stages consist of, in one thread."""
    table = Table("functions of ingestion, bare", "ms a chunk", higher_is_better=False)
    model = packaged_model()
    manifest, configuration = model.manifest, ChunkingConfiguration.of()
    tokens = TokenCounter.load(
        model.file("tokenizer.json"), token_limit=manifest.token_limit, passage_prefix=manifest.passage_prefix
    )
    null = ModelStore(model.path.parent).describe_model(f"{manifest.name}@{NULL_PRECISION}")
    encoder = Encoder(null, open_engine(null, name="auto", threads=1, streams=1))
    for number in range(rounds + 1):
        times, count = _round(encoder, tokens, configuration, manifest.passage_prefix)
        if number > 0:
            for name, seconds in times.items():
                table.add(name, 1000 * seconds / count)
    return table


def _round(
    encoder: Encoder, tokens: TokenCounter, configuration: ChunkingConfiguration, prefix: str
) -> tuple[dict[str, float], int]:
    """Take the sheets through every function once; return the seconds of each, and the number of chunks."""
    times: dict[str, float] = {}

    def timed(name: str, work: Callable[[], T]) -> T:
        started = time.process_time()
        result = work()
        times[name] = time.process_time() - started
        return result

    documents = timed("read", lambda: [parse_text(Source(file, file.name)) for file in sheets()[0]])
    chunks = timed("cut", lambda: [
        (document.title, chunk) for document in documents
        for chunk in cut(document, configuration, tokens, detect_language=detect)
    ])
    texts = [chunk.embedding_text for _, chunk in chunks]
    items = timed("tokenise", lambda: encoder.tokenize(
        texts, prefix=prefix, field="texts", keeps_hidden=False
    ))
    timed("pool, reduce to signs", lambda: [
        encoder.encode(items[start : start + BATCH_TEXTS]) for start in range(0, len(items), BATCH_TEXTS)
    ])
    timed("analyse", lambda: [
        lexical_entry(
            analyse_passage(title, *chunk.heading_path, chunk.text, language=chunk.language),
            collection_number=1,
        ) for title, chunk in chunks
    ])
    return times, len(chunks)
