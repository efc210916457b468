"""A peer that ingests, in a process and an environment of its own."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from bench.embedding.embedding import MODEL
from bench.environment import CORES, ROOT
from bench.line_process import LineProcess, line_process
from bench.peers.embedding import built, openvino_form
from bench.stored_models import model_store
from bench.texts import sheets
from sourcier.services.chassis.models.store import Model

CHUNK_TOKENS, OVERLAP_TOKENS = 384, 32
BATCHES = {"llamaindex": (10, 1), "haystack": (32, 1)}
"""By peer, its documented batch of texts, then what is tried in its place: one by one, nothing is padded."""
WORKERS = {"llamaindex": CORES}
"""Peers that can spread a run over processes, by their documentation, and how many: each then has a thread. They are
started for each run, so how much that gives shows in whole rounds alone."""
LABELS = {"llamaindex": "LlamaIndex", "haystack": "Haystack"}
STORED, DYNAMIC, OPENVINO = "int8", "dynamic", "openvino"
FORMS = {STORED: "the stored int8", DYNAMIC: "dynamic int8", "dynamic-per-channel": "dynamic int8 by channel",
         OPENVINO: "OpenVINO int8"}
"""Files of the model that a peer may run: by onnxruntime ours, which is made for OpenVINO, and what onnxruntime's own
quantiser makes; by OpenVINO what sentence-transformers makes for it."""
TRIES = 2
"""How often each way is tried, in turn, after once that does not count."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a peer is run."""

    form: str
    batch: int
    workers: int = 1
    """Processes, which share the threads."""

    def __str__(self) -> str:
        """Return it as tables have it."""
        workers = f", {self.workers} workers" if self.workers > 1 else ""
        return f"{FORMS[self.form]}, batches of {self.batch}{workers}"


@dataclass(frozen=True, slots=True)
class Round:
    """What ingesting some files took."""

    seconds: float
    chunks: int
    tokens: int


class Peer:
    """Reads, splits, embeds and stores whatever files it is told to."""

    def __init__(self, name: str, process: LineProcess, files: Mapping[str, Path]) -> None:
        self.name = name
        self._process = process
        self._files = files

    @classmethod
    @asynccontextmanager
    async def started(cls, name: str, url: str, files: Mapping[str, Path]) -> AsyncIterator[Peer]:
        """Run the peer on a database, with the files of the model by form."""
        async with line_process(
            str(ROOT / ".venv" / name / "bin" / "python"), "-m", f"bench.peers.{name}", quiet=True,
            environment={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": str(ROOT),
                         "TOKENIZERS_PARALLELISM": "true", "HAYSTACK_TELEMETRY_ENABLED": "false"},
            ended=f"{name} ended; run `.venv/{name}/bin/python -m bench.peers.{name}` to see why",
        ) as process:
            # Not among its arguments: the address holds a password.
            await process.ask(_options(url))
            yield cls(name, process, files)

    async def ways(self, files: list[Path]) -> tuple[Way, list[Way]]:
        """Return the fastest way here with the file that we run, and the fastest of each runtime."""
        tried = [Way(form, batch) for form in FORMS for batch in BATCHES[self.name]]
        rates: dict[Way, list[float]] = {way: [] for way in tried}
        # The first time a way connects, loads and warms.
        for turn in range(-1, TRIES):
            for number, way in enumerate(tried):
                done = await self.ingest(files, f"tried{turn + 1}_{number}", way)
                if turn >= 0:
                    rates[way].append(done.tokens / done.seconds)
        by_rate = sorted(tried, key=lambda way: max(rates[way]), reverse=True)
        fastest = {way.form == OPENVINO: way for way in reversed(by_rate)}
        return next(way for way in by_rate if way.form == STORED), list(fastest.values())

    def quick_ways(self) -> tuple[Way, list[Way]]:
        """Return the file that we run and, in place of the fastest, onnxruntime's own int8: a quick run tries none."""
        batch = BATCHES[self.name][-1]
        return Way(STORED, batch), [Way(DYNAMIC, batch)]

    async def ingest(self, files: list[Path], table: str, way: Way) -> Round:
        """Ingest files into a new table."""
        return Round(**await self._process.ask({
            "files": [str(file) for file in files], "table": f"{self.name}_{table}", "batch": way.batch,
            "model": str(self._files[way.form]), "workers": way.workers,
        }))


def packaged_model() -> Model:
    """Return the embedding model that every contestant runs."""
    return model_store().describe_model(MODEL)


async def files_by_form(*, quick: bool) -> dict[str, Path]:
    """Return the files that peers may run; those that are not there are made, and fewer for a quick run."""
    model = packaged_model()
    files = {STORED: model.variant(STORED)}
    if not quick:
        files[OPENVINO] = await openvino_form(model)
    for form in (DYNAMIC,) if quick else FORMS.keys() - files.keys():
        path = await built(model, form)
        assert path is not None
        files[form] = path
    return files


def _options(url: str) -> dict[str, Any]:
    model = packaged_model()
    tokenizer = Tokenizer.from_file(str(model.file("tokenizer.json")))
    texts = [file.read_text("utf-8") for file in sheets()[0][:20]]
    words_per_token = sum(len(text.split()) for text in texts) / sum(len(tokenizer.encode(text).ids) for text in texts)
    return {
        "url": url, "tokenizer": str(model.file("tokenizer.json")),
        "dimension": model.manifest.dimension, "threads": CORES, "chunk_tokens": CHUNK_TOKENS,
        "overlap_tokens": OVERLAP_TOKENS, "chunk_words": int(CHUNK_TOKENS * words_per_token),
        "overlap_words": int(OVERLAP_TOKENS * words_per_token),
    }
