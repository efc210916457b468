"""What `Ask` adds to the tokens of an answer, the check of its sentences included, and what that check costs.

The whole stack answers with a scripted model of 50 tokens a second. A sentence is shown once it has ended and been
checked, so it is due with the token that shows its end: the first of the next sentence, or the token by which a model
says that its answer is whole. Sentences come in three kinds:
long ones, of which few have to be checked; ordinary ones whose embeddings the embed service remembers; and ordinary
ones that it has never seen, which is what a language model writes.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.environment import ROOT, running_stack
from bench.ingestion.ingestion import load
from bench.measuring import Table, percentile
from bench.streaming.streams import SCRIPTED_LIMITS, Processes, Reading, read_all
from sourcier.client import Client
from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel

TOKENS_PER_SECOND = 50
TOKENS = 256
SOURCE = ROOT / "demo" / "sources" / "teletravail.md"
STARTS_PER_SECOND = 15
"""Questions asked: each is searched for before its answer begins, and that is not what is measured."""
WARM_STREAMS = 8
SPREAD_SECONDS_MAX = 4.0
"""An answer is written for five seconds: begun over a longer time, they would not all be at once."""
DELAY_MS_MAX = {50: 10.0, 200: 50.0}
_MARKER = re.compile(r"\[\d+\]")
_LETTERS = re.compile(r"[^\W\d_’'-]+(?:[’'-][^\W\d_]+)*")


@dataclass(frozen=True)
class Kind:
    """A kind of answer."""

    name: str
    words: int
    """Of a sentence."""
    seen: bool

    @property
    def text(self) -> str:
        """The script's text: `TOKENS` words, in sentences of the source's own; the first word is when it began."""
        found = _LETTERS.findall(SOURCE.read_text("utf-8"))
        sentences = []
        for place in range(0, TOKENS, self.words):
            words = found[place : place + self.words]
            # A figure that no passage holds stays what it is where sentences are marked, and makes each one new.
            words[-2 if place else 0] = "{clock}" if not (place and self.seen) else words[-2]
            sentences.append(f"{words[0][0].upper()}{words[0][1:]} {' '.join(words[1:])}.")
        return " ".join(sentences)

    def delays(self, reading: Reading, *, first_token_seconds: float) -> list[float]:
        """Return the seconds that each word of an answer came after its sentence was due."""
        place, delays = 0, list[float]()
        start = float(reading.arrivals[0][1].split()[0]) + first_token_seconds
        for at, text in reading.arrivals:
            count = len(text.split())
            for word in range(place, place + count):
                shown_by = (word // self.words + 1) * self.words
                delays.append(at - start - shown_by / TOKENS_PER_SECOND)
            place += count
        return delays


KINDS = (Kind("few long sentences", 64, seen=True), Kind("sentences seen before", 16, seen=True),
         Kind("sentences never seen", 16, seen=False))


async def run(*, quick: bool) -> list[Table]:
    """Read so many answers at once, of each kind."""
    numbers = (50,) if quick else (1, 10, 50, 200)
    first_token_seconds = max(numbers) / STARTS_PER_SECOND + 1
    delay = Table("added delay of a sentence in Ask", "ms, p99 of all words", higher_is_better=False)
    cost = Table("CPU of a token in Ask, clients apart", "µs", higher_is_better=False)
    with tempfile.TemporaryDirectory(prefix="sourcier-bench-") as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps({
            "tokens_per_second": TOKENS_PER_SECOND, "first_token_seconds": first_token_seconds,
            "rules": [{"pattern": kind.name, "text": kind.text} for kind in KINDS],
        }, ensure_ascii=False), encoding="utf-8")
        async with running_stack(**_variables(script)) as addresses:
            async with Client(addresses["SOURCIER_GATEWAY_URL"]) as client:
                await load(client, [SOURCE], collection="default")
            asker = _Asker(addresses["SOURCIER_GATEWAY_URL"], _processes(Path(addresses["SOURCIER_DATA_DIR"])))
            kinds = KINDS[:1] if quick else KINDS
            # A round that does not count: several answers at once, so that batches have their shapes compiled.
            await asyncio.gather(*(asker.ask(kind, WARM_STREAMS, first_token_seconds) for kind in kinds))
            for kind in kinds:
                for streams in numbers:
                    await _measure(asker, kind, streams, first_token_seconds, delay, cost)
            await asker.close()
    for streams, at_most in DELAY_MS_MAX.items():
        if streams in numbers:
            delay.limit(_label(KINDS[0], streams), at_most=at_most)
    return [delay, cost]


class _Asker:
    """Asks the gateway, and knows the stack's processes."""

    def __init__(self, target: str, processes: Processes) -> None:
        self._channel = open_channel(target)
        self._stub = answer_pb2_grpc.AnswerServiceStub(self._channel)
        self.processes = processes
        self.degraded = 0
        """Answers whose sentences were checked by their words alone."""

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()

    async def ask(self, kind: Kind, streams: int, first_token_seconds: float) -> list[Reading]:
        """Read so many answers of a kind, which have to be whole."""
        self.degraded = 0
        request = answer_pb2.AskRequest(
            question=f"Combien de jours de télétravail par semaine, {kind.name} ?",
            strictness=answer_pb2.STRICTNESS_MARK,
        )
        readings = await read_all(
            self._stub.Ask, [request] * streams, self._text,
            over_seconds=min(first_token_seconds - 1, SPREAD_SECONDS_MAX),
        )
        assert all(reading.tokens == TOKENS for reading in readings), [reading.tokens for reading in readings]
        return readings

    def _text(self, response: Any) -> str:
        self.degraded += response.event.degraded.stage == "citation"
        return _MARKER.sub("", response.event.token.text).strip()


async def _measure(
    asker: _Asker, kind: Kind, streams: int, first_token_seconds: float, delay: Table, cost: Table
) -> None:
    label = _label(kind, streams)
    asking = asyncio.ensure_future(asker.ask(kind, streams, first_token_seconds))
    # The searches come before the first token, and are not what is measured.
    await asyncio.sleep(first_token_seconds - 0.5)
    before = asker.processes.cpu_seconds()
    readings = await asking
    after = asker.processes.cpu_seconds()
    by_answer = [[1000 * each for each in kind.delays(reading, first_token_seconds=first_token_seconds)]
                 for reading in readings]
    delays = [each for answer in by_answer for each in answer]
    # The clock makes each answer's first sentence one that was never seen.
    later = [each for answer in by_answer for each in answer[kind.words :]]
    delay.add(label, percentile(delays, 0.99))
    delay.notes[label] = (f"p50 {percentile(delays, 0.5):.1f}, p95 {percentile(delays, 0.95):.1f}; without each "
                          f"answer's first sentence p99 {percentile(later, 0.99):.1f}") + (
        f"; {asker.degraded} answers checked by words alone" if asker.degraded else "")
    used = {name: 1e6 * (after[name] - before[name]) / len(delays) for name in after}
    cost.add(label, sum(spent for name, spent in used.items() if name != "client"))
    cost.notes[label] = ", ".join(f"{name} {spent:.0f}" for name, spent in used.items()) + (
        f"; {cost.samples[label][-1] * kind.words / 1000:.1f} ms for all of a sentence")


def _label(kind: Kind, streams: int) -> str:
    return f"{kind.name}, {streams} stream{'s' if streams > 1 else ''}"


def _processes(folder: Path) -> Processes:
    state = json.loads((folder / "stack.json").read_text("utf-8"))
    watched = ("generate", "gateway", "embed", "rerank", "nats")
    return Processes({part["name"]: int(part["pid"]) for part in state["components"] if part["name"] in watched})


def _variables(script: Path) -> dict[str, str]:
    return {
        "SOURCIER_STACK_SERVICES": "ingest,embed,rerank,generate,gateway",
        "SOURCIER_GENERATE_ENGINE": "scripted", "SOURCIER_GENERATE_SCRIPT_FILE": str(script), **SCRIPTED_LIMITS,
        # The question is always searched for and answered, and the script asked for nothing else.
        "SOURCIER_GATEWAY_ANSWERABILITY_THRESHOLD": "0", "SOURCIER_GATEWAY_REFUSAL_THRESHOLD": "-1",
        "SOURCIER_GATEWAY_REFUSAL_SIMILARITY": "-1", "SOURCIER_GATEWAY_SMALL_TALK": "false",
        "SOURCIER_GATEWAY_JUDGE": "off", "SOURCIER_GATEWAY_ENTAILMENT": "off",
    }
