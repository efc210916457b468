"""A peer that ingests, in a process and an environment of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from bench.embedding import MODEL
from bench.environment import CORES, ROOT
from bench.line_process import LINE_BYTES_MAX, LineProcess
from bench.texts import sheets
from services.chassis.models import Model, ModelStore, default_root

CHUNK_TOKENS, OVERLAP_TOKENS = 384, 32
BATCHES = {"llamaindex": (10, 1), "haystack": (32, 1)}
"""By peer, its documented batch of texts, then what is tried in its place: one by one, nothing is padded."""
LABELS = {"llamaindex": "LlamaIndex", "haystack": "Haystack"}


@dataclass(frozen=True, slots=True)
class Round:
    """What ingesting some files took."""

    seconds: float
    chunks: int
    tokens: int


class Peer:
    """Reads, splits, embeds and stores whatever files it is told to."""

    def __init__(self, name: str, process: LineProcess) -> None:
        self.name = name
        self._process = process
        self._batch = BATCHES[name][0]

    @property
    def label(self) -> str:
        """Its name in tables, with the batch that was chosen."""
        return f"{LABELS[self.name]}, batches of {self._batch}"

    @classmethod
    @asynccontextmanager
    async def started(cls, name: str, url: str) -> AsyncIterator[Peer | None]:
        """Run the peer on a database; None where its environment has not been made."""
        python = ROOT / ".venv" / name / "bin" / "python"
        if not python.exists():
            yield None
            return
        process = await asyncio.create_subprocess_exec(
            str(python), "-m", f"bench.peer_{name}", cwd=ROOT, limit=LINE_BYTES_MAX,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": str(ROOT),
                 "TOKENIZERS_PARALLELISM": "true", "HAYSTACK_TELEMETRY_ENABLED": "false"},
        )
        ended = f"{name} ended; run `.venv/{name}/bin/python -m bench.peer_{name}` to see why"
        peer = cls(name, LineProcess(process, ended=ended))
        try:
            # Not among its arguments: the address holds a password.
            await peer._process.ask(_options(url))
            yield peer
        finally:
            await peer._process.stop()

    async def choose_batch(self, files: list[Path]) -> None:
        """Keep the batch size that is fastest here."""
        rates = {}
        for batch in BATCHES[self.name]:
            self._batch = batch
            done = await self.ingest(files, f"batch{batch}")
            rates[batch] = done.tokens / done.seconds
        self._batch = max(rates, key=lambda batch: rates[batch])

    async def ingest(self, files: list[Path], table: str) -> Round:
        """Ingest files into a new table."""
        command = {"files": [str(file) for file in files], "table": f"{self.name}_{table}", "batch": self._batch}
        return Round(**await self._process.ask(command))


def packaged_model() -> Model:
    """Return the embedding model that every contestant runs."""
    return ModelStore(Path(os.environ.get("SOURCIER_MODELS_DIR") or default_root(os.environ))).describe_model(MODEL)


def _options(url: str) -> dict[str, Any]:
    model = packaged_model()
    tokenizer = Tokenizer.from_file(str(model.file("tokenizer.json")))
    texts = [file.read_text("utf-8") for file in sheets()[0][:20]]
    words_per_token = sum(len(text.split()) for text in texts) / sum(len(tokenizer.encode(text).ids) for text in texts)
    return {
        "url": url, "model": str(model.variant("int8")), "tokenizer": str(model.file("tokenizer.json")),
        "dimension": model.manifest.dimension, "threads": CORES, "chunk_tokens": CHUNK_TOKENS,
        "overlap_tokens": OVERLAP_TOKENS, "chunk_words": int(CHUNK_TOKENS * words_per_token),
        "overlap_words": int(OVERLAP_TOKENS * words_per_token),
    }
