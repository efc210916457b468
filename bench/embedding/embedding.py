"""The embed service against bare engines and sentence-transformers, and the time of one short question."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.embedding import bare_encoder
from bench.embedding.embed_client import EmbedClient, compiles_for_lengths, vectors_of
from bench.embedding.products import PRODUCTS, Products
from bench.environment import CORES, opened_together, running_stack
from bench.measuring import Table, interleave
from bench.peers.embedding import BATCH_SIZES, OnnxRuntimePeer, SentenceTransformers, built, openvino_form, weights
from bench.stored_models import model_store
from bench.texts import long_tailed, passages, questions
from sourcier.services.chassis.models.store import Model
from sourcier.services.embed.encoder import Encoder
from sourcier.services.embed.engines import open_engine

MODEL = "multilingual-e5-small"
PEER, DYNAMIC, DEFAULT = "sentence-transformers", "onnxruntime, dynamic int8", "service, default engine, by JetStream"
OPENVINO = "sentence-transformers, OpenVINO int8"
BARE = "bare onnxruntime"
SHORT_TEXTS = 20
"""Questions of one sample of the latency table; each sample is their median."""
SAMPLED = 4
"""Of so many texts one is tried in batches of each size, before any size is chosen."""
LOAD_PASSES = 56
"""After so many the commonest lengths of the texts have been compiled for (`sourcier/services/embed/lengths.py`)."""
COSINE_MIN, COSINE_MIN_DYNAMIC = 0.95, 0.85
"""Least cosine with fp32 that counts as the same vector; the dynamic form loses more, and is timed all the same."""
FloatArray = npt.NDArray[np.float32]
Contestants = dict[str, Callable[[], Awaitable[float]]]


async def run(*, quick: bool) -> list[Table]:
    """Measure tokens a second on the same texts, model and threads, and the time of one short question."""
    model = model_store().load(MODEL)
    prefix = model.manifest.passage_prefix
    piaf, origin = passages(12 if quick else 192)
    mixed, distribution = long_tailed(12 if quick else 384)
    rounds = 1 if quick else 5
    # One part is compared, one does not count, the others are timed.
    asked = questions(SHORT_TEXTS * (2 + 2 * rounds))
    lists = {"piaf": [prefix + text for text in piaf], "mixed": [prefix + text for text in mixed]} | {
        f"questions {number}": [model.manifest.query_prefix + text for text in part]
        for number, part in enumerate(_parts(asked))
    }
    lists |= {f"{name}, sample": lists[name][::SAMPLED] for name in ("piaf", "mixed")}
    precision = "int8" if "int8" in model.manifest.variants else "fp32"
    # As many streams as the service has, each on its share of the threads.
    bare = Encoder(model, open_engine(model, name=f"onnxruntime-{precision}", threads=CORES, streams=CORES))
    products = Products(model, streams=CORES)
    async with AsyncExitStack() as opened:
        *stacks, peers = await opened_together(
            opened,
            running_stack(SOURCIER_STACK_SERVICES="embed", SOURCIER_EMBED_ENGINE=f"onnxruntime-{precision}"),
            running_stack(SOURCIER_STACK_SERVICES="embed"),
            _Peers.started(lists, model=model),
        )
        same, default = [await opened.enter_async_context(EmbedClient(addresses, model)) for addresses in stacks]
        passes = LOAD_PASSES if not quick and await compiles_for_lengths(stacks[1]) else 0
        effort = _Effort(rounds=rounds, passes=passes, warmed=quick)
        await peers.check(lists, {
            "piaf": [await same.by_grpc(piaf), vectors_of(piaf, await same.by_jetstream(piaf)),
                     vectors_of(piaf, await default.by_jetstream(piaf)),
                     np.stack([entry.vector for entry in bare_encoder.encode(bare, piaf)])],
            "mixed": [vectors_of(mixed, await default.by_jetstream(mixed))],
            "questions 0": [(await default.one_by_one(_parts(asked)[0]))[1]],
        })
        await peers.choose_batch_sizes(lists, quick=quick)
        return [
            await _passages(piaf, origin, bare, products, same, default, peers, effort),
            await _mixed(mixed, distribution, bare, default, peers, effort),
            await _short(_parts(asked), default, peers, lists, rounds=2 * rounds),
        ]


@dataclass(frozen=True, slots=True)
class _Effort:
    """How long tokens a second are measured."""

    rounds: int
    passes: int
    """Of the texts through the service, before anything counts."""
    warmed: bool
    """Whether comparing the vectors, and choosing sizes, is all that goes before the rounds that count."""


class _Peers:
    """What is measured beside the service."""

    def __init__(
        self, transformers: Mapping[str, SentenceTransformers], dynamic: OnnxRuntimePeer, fp32: OnnxRuntimePeer
    ) -> None:
        self.transformers = transformers
        self.dynamic = dynamic
        self.fp32 = fp32
        self._dynamic_sizes: dict[str, int] = {}

    @classmethod
    @asynccontextmanager
    async def started(cls, lists: Mapping[str, Sequence[str]], *, model: Model) -> AsyncIterator[_Peers]:
        tokenizer = model.file("tokenizer.json")
        # What `quantize_dynamic` makes of the model by default.
        graph = await built(model, "dynamic")
        assert graph is not None
        paths = {PEER: await weights(model.manifest.name), OPENVINO: await openvino_form(model)}
        async with AsyncExitStack() as opened:
            # Each mostly imports, on one processor.
            started = await opened_together(
                opened, *(SentenceTransformers.started(lists, path=path) for path in paths.values())
            )
            yield cls(dict(zip(paths, started, strict=True)), OnnxRuntimePeer(graph, tokenizer),
                      OnnxRuntimePeer(model.variant("fp32"), tokenizer))

    async def check(self, lists: Mapping[str, Sequence[str]], ours: Mapping[str, Sequence[FloatArray]]) -> None:
        """Assert that all embed alike, on every way that is timed, before anything is."""
        for name, found in ours.items():
            expected = await asyncio.to_thread(self.fp32.encode, lists[name])
            for vectors in found:
                _assert_alike(expected, vectors, least=COSINE_MIN)
            for peer, transformers in self.transformers.items():
                least = 0.999 if peer == PEER else COSINE_MIN
                _assert_alike(expected, await transformers.vectors(name), least=least)
            _assert_alike(expected, await asyncio.to_thread(self.dynamic.encode, lists[name]),
                          least=COSINE_MIN_DYNAMIC)

    async def choose_batch_sizes(self, lists: Mapping[str, Sequence[str]], *, quick: bool) -> None:
        sizes = BATCH_SIZES[:2] if quick else BATCH_SIZES
        for name in ("piaf", "mixed"):
            for transformers in self.transformers.values():
                await transformers.choose_batch_size(name, sample=f"{name}, sample", sizes=sizes)
            self._dynamic_sizes[name] = await asyncio.to_thread(
                self.dynamic.fastest_batch_size, lists[f"{name}, sample"], sizes=sizes
            )

    def contestants(self, name: str, prefixed: Sequence[str], tokens: int) -> Contestants:
        """Return the peers' turns on a list of texts, in tokens a second."""
        def encoding(peer: str) -> Callable[[], Awaitable[float]]:
            async def encode() -> float:
                return tokens / await self.transformers[peer].encode(name)

            return encode

        size = self._dynamic_sizes[name]
        return {peer: encoding(peer) for peer in self.transformers} | {DYNAMIC: _rate(
            tokens, lambda: asyncio.to_thread(self.dynamic.encode, prefixed, batch_size=size)
        )}

    def note(self, table: Table, name: str) -> None:
        """Write the peers' settings and targets into a table."""
        for peer, form in ((PEER, "torch fp32"), (OPENVINO, "quantised as it documents")):
            size = self.transformers[peer].batch_sizes[name]
            table.notes[peer] = f"{form}, batches of {size}, sorted by length"
        table.notes[DYNAMIC] = f"quantize_dynamic by default, batches of {self._dynamic_sizes[name]}, sorted"
        table.ratio(DEFAULT, PEER, target=3.0)
        table.ratio(DEFAULT, DYNAMIC, target=1.8)
        table.ratio(DEFAULT, OPENVINO)


async def _passages(texts: list[str], origin: str, bare: Encoder, products: Products, same: EmbedClient,
                    default: EmbedClient, peers: _Peers, effort: _Effort) -> Table:
    table = Table("embedding", "tokens/s")
    tokens = sum(item.count for item in bare_encoder.tokenised(bare, texts))
    prefixed = [bare.model.manifest.passage_prefix + text for text in texts]
    await _under_load(default, texts, passes=effort.passes)
    await interleave(table, {
        BARE: _rate(tokens, lambda: asyncio.to_thread(bare_encoder.encode, bare, texts)),
        "service by gRPC": _rate(tokens, lambda: same.by_grpc(texts)),
        "service by JetStream": _rate(tokens, lambda: same.by_jetstream(texts)),
        DEFAULT: _rate(tokens, lambda: default.by_jetstream(texts)),
        PRODUCTS: lambda: asyncio.to_thread(products.rate, tokens),
    } | peers.contestants("piaf", prefixed, tokens), rounds=effort.rounds, warmed=effort.warmed)
    table.notes[BARE] = f"{bare.engine.name}, {CORES} threads, {len(texts)} passages of {origin}, {tokens} tokens"
    table.ratio("service by gRPC", BARE, target=0.9)
    table.ratio("service by JetStream", BARE, target=0.95)
    peers.note(table, "piaf")
    products.hold(DEFAULT, table)
    return table


async def _mixed(texts: list[str], distribution: str, bare: Encoder, default: EmbedClient, peers: _Peers,
                 effort: _Effort) -> Table:
    table = Table("embedding, lengths with a long tail", "tokens/s")
    counts = sorted(item.count for item in bare_encoder.tokenised(bare, texts))
    prefixed = [bare.model.manifest.passage_prefix + text for text in texts]
    await _under_load(default, texts, passes=effort.passes)
    await interleave(table, {DEFAULT: _rate(sum(counts), lambda: default.by_jetstream(texts))}
                     | peers.contestants("mixed", prefixed, sum(counts)), rounds=effort.rounds, warmed=effort.warmed)
    shares = ", ".join(f"p{share} {counts[len(counts) * share // 100]}" for share in (10, 50, 90, 99))
    table.notes[DEFAULT] = f"{len(texts)} texts, {sum(counts)} tokens, {distribution}; tokens a text: {shares}"
    peers.note(table, "mixed")
    return table


async def _under_load(default: EmbedClient, texts: Sequence[str], *, passes: int) -> None:
    """Embed the texts untimed, until the service has compiled what it compiles for a load that lasts."""
    for _ in range(passes):
        await default.by_jetstream(texts)


async def _short(parts: list[list[str]], default: EmbedClient, peers: _Peers, lists: Mapping[str, Sequence[str]], *,
                 rounds: int) -> Table:
    """Compare the time of one question; each round takes questions of its own, for the service remembers them."""
    table = Table("embedding, one short question", "ms", higher_is_better=False)
    ours, torch, fp32 = "service by gRPC", "sentence-transformers, fp32", "bare onnxruntime, fp32"
    by_peer = {torch: peers.transformers[PEER], OPENVINO: peers.transformers[OPENVINO]}

    # The first part was compared with fp32, and the service remembers it.
    def turn(ask: Callable[[int], Awaitable[list[float]]]) -> Callable[[], Awaitable[float]]:
        numbers = iter(range(1, len(parts)))

        async def measured() -> float:
            return 1000 * statistics.median(await ask(next(numbers)))

        return measured

    async def by_service(number: int) -> list[float]:
        return (await default.one_by_one(parts[number]))[0]

    await interleave(table, {
        ours: turn(by_service),
        fp32: turn(lambda number: asyncio.to_thread(_one_by_one, peers.fp32, lists[f"questions {number}"])),
    } | {name: turn(_asking(peer)) for name, peer in by_peer.items()}, rounds=rounds)
    table.notes[ours] = f"the median of {SHORT_TEXTS} questions is a sample; call, tokenising and model"
    for theirs in (fp32, torch):
        table.ratio(ours, theirs, target=0.5)
    table.ratio(ours, OPENVINO)
    return table


def _asking(peer: SentenceTransformers) -> Callable[[int], Awaitable[list[float]]]:
    return lambda number: peer.one_by_one(f"questions {number}")


def _one_by_one(peer: OnnxRuntimePeer, texts: Sequence[str]) -> list[float]:
    seconds = []
    for text in texts:
        started = time.perf_counter()
        peer.encode([text], batch_size=1)
        seconds.append(time.perf_counter() - started)
    return seconds


def _rate(tokens: int, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[float]]:
    async def measured() -> float:
        started = time.perf_counter()
        await work()
        return tokens / (time.perf_counter() - started)

    return measured


def _parts(asked: list[str]) -> list[list[str]]:
    return [asked[start : start + SHORT_TEXTS] for start in range(0, len(asked), SHORT_TEXTS)]


def _assert_alike(expected: FloatArray, found: FloatArray, *, least: float) -> None:
    cosine = float((expected * found).sum(axis=1).min())
    assert cosine > least, f"vectors differ: least cosine {cosine:.4f}"
