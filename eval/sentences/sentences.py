"""How well the gateway's check tells supported sentences from others: the gateway's own code over the real services."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import grpc
import grpc.aio
import numpy as np

from eval.reporting import report
from eval.retrieval.measures import auroc
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets import handwritten, sentence_sets
from eval.sets.calibration import is_reported
from eval.sets.datasets import Dataset, Passage
from eval.sets.sentence_sets import Sentence
from eval.system import System
from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis.grpc.channels import Deadline, Identity, open_channel
from sourcier.services.gateway.evidence.checking import Thresholds
from sourcier.services.gateway.evidence.clause_check import ClauseCheck
from sourcier.services.gateway.evidence.support import SupportScorer
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.peers.services import Limits, Peers
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.index.search.passages import Passage as IndexedPassage

TENANT = "default"
CALL_SECONDS_MAX = 60.0
CONCURRENCY = 4
TIMED = 300
KEPT_MIN = 0.95
SETTERS = (sentence_sets.REWORDED, handwritten.HAND_WRITTEN)
"""The kinds that set the threshold: it keeps 95 % of each."""
MARKED = (sentence_sets.NAME_ABSENT, sentence_sets.NEGATION_ADDED)
GATES: Mapping[str, float] = {
    sentence_sets.NUMBER_ABSENT: 0.95, sentence_sets.OTHER_ARTICLE: 0.98, sentence_sets.SAME_ARTICLE: 0.80,
    sentence_sets.NAME_ABSENT: 0.95, sentence_sets.NEGATION_ADDED: 0.85, sentence_sets.REWORDED: 0.95,
    handwritten.HAND_WRITTEN: 0.95,
}
"""Least share withheld, or marked, or kept for what is supported; what is not named is published without a gate."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence and what the check made of it."""

    kind: str
    article: str
    text: str
    passage_id: str
    topic: float
    """The score that the threshold is on; 1 for what the passage holds word for word."""
    repeated: bool
    """Whether the passage holds it word for word."""
    finding: str

    @property
    def score(self) -> float:
        """Finding and score as one number, so that kinds can be compared whatever rule catches them."""
        return self.topic - DEDUCTIONS.get(self.finding, 0.0)


DEDUCTIONS = {"FIGURE_ABSENT": 2.0, "NAME_ABSENT": 1.0, "NEGATION_ADDED": 1.0, "CONTRADICTED": 1.0}


class Checker:
    """Checks one sentence against one passage as the gateway would."""

    def __init__(
        self, peers: Peers, embed: embed_pb2_grpc.EmbedServiceStub, thresholds: Thresholds, *, space_id: str
    ) -> None:
        self.peers = peers
        self._embed = embed
        self._thresholds = thresholds
        self._space_id = space_id
        self._passages: dict[str, IndexedPassage] = {}

    async def add(self, passages: Sequence[Passage]) -> list[str]:
        """Embed passages as ingestion does; return the ids of those that are too long for one chunk, left out."""
        too_long = []
        for passage in passages:
            try:
                codes = await self._codes(f"{passage.title}\n{passage.text}")
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.INVALID_ARGUMENT:
                    raise
                too_long.append(passage.passage_id)
                continue
            self._passages[passage.passage_id] = _indexed(passage, codes)
        return too_long

    async def _codes(self, text: str) -> bytes:
        """Return the signs of a passage's token vectors: what ingestion keeps of it."""
        request = embed_pb2.EmbedRequest(role=embed_pb2.TEXT_ROLE_PASSAGE, texts=[text], token_vectors=True)
        response = await self._embed.Embed(request, timeout=CALL_SECONDS_MAX)
        tokens = response.embeddings[0].tokens
        rows = np.frombuffer(tokens.vectors, "<f4").reshape(tokens.count, -1)
        return np.packbits(rows > 0, axis=-1).tobytes()

    def knows(self, sentence: Sentence) -> bool:
        """Return whether a sentence's passage is there."""
        return sentence.passage_id in self._passages

    async def check(self, sentence: Sentence) -> Checked:
        """Return what the check makes of a sentence."""
        scorer = self._scorer([self._passages[sentence.passage_id]])
        check = await scorer.check(sentence.text, (1,), deadline=_deadline())
        if scorer.failed:
            raise click.ClickException(scorer.failed)
        verdict = check.verdicts[1]
        assert verdict.score is not None  # only a failure leaves it out
        finding = verdict.finding
        if finding.shown and self._objects(sentence):
            finding = Finding.CONTRADICTED
        return Checked(
            sentence.kind, sentence.article, sentence.text, sentence.passage_id, round(verdict.score, 6),
            check.repeated, finding.name,
        )

    def _objects(self, sentence: Sentence) -> bool:
        """Return whether a clause of the passage speaks against the sentence, as at the end of the gateway's check."""
        clauses = ClauseCheck(
            [self._passages[sentence.passage_id]], question="", language="fr", today=datetime.now(UTC).date()
        )
        return clauses.objection(sentence.text, (1,), confirmed=False) is not None

    def _scorer(self, given: Sequence[IndexedPassage]) -> SupportScorer:
        return SupportScorer(self.peers, given, tenant=TENANT, space_id=self._space_id, thresholds=self._thresholds)

    async def timed(self, sentences: Sequence[Sentence]) -> list[float]:
        """Return the seconds that each check takes beside five passages, one sentence at a time."""
        known = list(self._passages.values())
        seconds = []
        for number, sentence in enumerate(sentences):
            own = self._passages[sentence.passage_id]
            given = [own, *(known[(number * 7 + step) % len(known)] for step in range(4))]
            scorer = self._scorer(given)
            # A sentence that no earlier check has seen: the embed service remembers questions.
            text = f"{sentence.text} ({number})"
            started = time.perf_counter()
            await scorer.check(text, (1,), deadline=_deadline())
            seconds.append(time.perf_counter() - started)
            if scorer.failed:
                raise click.ClickException(scorer.failed)
        return seconds


@dataclass(frozen=True, slots=True)
class Run:
    """What was checked and how long it took."""

    checked: Sequence[Checked]
    too_long: int
    """Passages that do not fit into one chunk, and their sentences, are left out."""
    seconds: Sequence[float]
    """Of single checks against five passages."""


async def check_sample(
    dataset: Dataset, system: System, *, per_kind: int, timed: int, wanted: Callable[[Sentence], bool] = lambda _: True
) -> Run:
    """Check those wanted of so many sentences of every kind, and those written by hand; time the check of some."""
    handbook = handwritten.handbook_passages()
    chosen = [
        *filter(wanted, sample_of(sentence_sets.sentences(dataset), per_kind)),
        *filter(wanted, handwritten.handwritten(handbook)),
    ]
    cited = {sentence.passage_id for sentence in chosen}
    known = {passage.passage_id: passage for passage in (*dataset.passages, *handbook.values())}
    passages = [passage for passage in known.values() if passage.passage_id in cited]
    async with checker_of(system) as checker:
        too_long = await checker.add(passages)
        chosen = [sentence for sentence in chosen if checker.knows(sentence)]
        checked = await check_all(checker, chosen, progress=Progress("sentences checked"))
        own = [sentence for sentence in chosen if sentence.kind == sentence_sets.VERBATIM]
        return Run(checked, len(too_long), await checker.timed(own[:timed]))


async def measure_sentences(
    dataset: Dataset, system: System, *, per_kind: int, document: Path | None, command: str
) -> None:
    """Check the sentences of every kind, report, and keep what was found."""
    run = await check_sample(dataset, system, per_kind=per_kind, timed=TIMED)
    median, p95 = (np.quantile(run.seconds, share) * 1000 for share in (0.5, 0.95))
    body = "\n\n".join([
        "### Sentences and their passages", table(run.checked),
        f"Half of the articles set the threshold: {best_threshold(run.checked):.3f} keeps 95 % of each supported kind "
        f"there, and the default is {defaults().score:.2f}. The figures are of the other half; of English sentences, "
        f"of all. {run.too_long} passages are longer than a chunk and left out.",
        f"The check of a sentence against five passages takes {median:.0f} ms at the median and {p95:.0f} ms at p95 "
        f"({len(run.seconds)} sentences, one at a time).",
        report.provenance(system=system.described, command=command),
    ])
    click.echo(body)
    RESULTS.mkdir(exist_ok=True)
    kept = RESULTS / f"support-{dataset.name}-{system.engine}.jsonl"
    kept.write_text("".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in run.checked), "utf-8")
    if document is not None:
        report.write_block(document, "sentences", body)


async def check_all(
    checker: Checker, sentences: Sequence[Sentence], *, progress: Callable[[int, int], None]
) -> list[Checked]:
    """Check sentences, a few at a time."""
    waiting, checked = iter(sentences), list[Checked]()

    async def work() -> None:
        for sentence in waiting:
            checked.append(await checker.check(sentence))
            progress(len(checked), len(sentences))

    async with asyncio.TaskGroup() as tasks:
        for number in range(CONCURRENCY):
            tasks.create_task(work(), name=f"sentences {number}")
    return checked


@asynccontextmanager
async def checker_of(system: System) -> AsyncIterator[Checker]:
    """Yield a checker over a stack's own embed and rerank services."""
    if not system.environment:
        raise click.ClickException("sentences are checked over a stack's own services; leave --gateway out")
    urls = {
        name: system.environment.get(f"SOURCIER_{name.upper()}_URL", "")
        for name in ("ingest", "embed", "rerank", "generate")
    }
    async with open_channel(urls["embed"], identity=Identity(token=system.token)) as channel, Peers(
        ingest_url=urls["ingest"], embed_url=urls["embed"], rerank_url=urls["rerank"],
        generate_url=urls["generate"] or urls["ingest"],
        limits=Limits(CALL_SECONDS_MAX, CALL_SECONDS_MAX, CALL_SECONDS_MAX),
        identity=Identity(token=system.token),
    ) as peers:
        (space, *_) = await peers.embed.served(tenant=TENANT, deadline=_deadline())
        yield Checker(peers, embed_pb2_grpc.EmbedServiceStub(channel), defaults(), space_id=space.space_id)


def defaults() -> Thresholds:
    """Return the gateway's default thresholds."""
    fields = GatewaySettings.model_fields
    return Thresholds(
        score=fields["support_threshold"].default, vectors=fields["support_vectors_threshold"].default,
        share=fields["support_share_threshold"].default,
    )


def best_threshold(checked: Sequence[Checked]) -> float:
    """Return the threshold that keeps 95 % of each supported kind on the articles that set it.

    A small set has no sentence of some kind there; those written by hand are in any.
    """
    floors = []
    for kind in SETTERS:
        scores = sorted(-1.0 if each.finding == "FIGURE_ABSENT" else each.topic for each in checked
                        if each.kind == kind and not is_reported(each.article))
        if scores:
            floors.append(scores[int((1 - KEPT_MIN) * len(scores))])
    return min(floors)


def withheld(checked: Sequence[Checked]) -> float:
    """Return the share that is not shown."""
    return sum(not Finding[each.finding].shown for each in checked) / len(checked)


def marked(checked: Sequence[Checked]) -> float:
    """Return the share that is marked or not shown."""
    return sum(Finding[each.finding] is not Finding.SUPPORTED for each in checked) / len(checked)


def reported(checked: Sequence[Checked]) -> dict[str, list[Checked]]:
    """Return by kind what figures are made of: the half that set no threshold, and all of what set none."""
    kinds: defaultdict[str, list[Checked]] = defaultdict(list)
    for each in checked:
        if is_reported(each.article) or each.kind in (handwritten.IN_ENGLISH, handwritten.ENGLISH_OTHER):
            kinds[each.kind].append(each)
    return dict(kinds)


def table(checked: Sequence[Checked]) -> str:
    """Return the figures as Markdown; precision is that of one supported sentence for each unsupported one."""
    kinds = reported(checked)
    setters = [kinds[kind] for kind in SETTERS if kind in kinds]
    supported = [each for kind in setters for each in kind]
    lost = sum(map(withheld, setters)) / len(setters)
    lost_or_marked = sum(map(marked, setters)) / len(setters)
    rows = [["sentence", "count", "word for word", "withheld", "withheld or marked", "precision", "AUROC", "gate"]]
    for kind, each in kinds.items():
        keeps = kind in (*sentence_sets.SUPPORTED, handwritten.HAND_WRITTEN, handwritten.IN_ENGLISH)
        share = marked(each) if kind in MARKED else withheld(each)
        false = lost_or_marked if kind in MARKED else lost
        rows.append([
            f"*supported:* {kind}" if keeps else kind, str(len(each)),
            f"{sum(one.repeated for one in each) / len(each):.1%}", f"{withheld(each):.1%}", f"{marked(each):.1%}",
            "" if keeps else f"{share / (share + false):.3f}" if share + false else "",
            "" if keeps else f"{auroc([one.score for one in supported], [one.score for one in each]):.3f}",
            _gate(kind, keeps=keeps),
        ])
    return report.markdown_table(rows)


def _gate(kind: str, *, keeps: bool) -> str:
    if kind not in GATES:
        return ""
    verb = "kept" if keeps else "marked" if kind in MARKED else "withheld"
    return f"{verb} ≥ {GATES[kind]:.0%}"


def sample_of(sentences: Iterator[Sentence], per_kind: int) -> list[Sentence]:
    """Return up to so many sentences of each kind, at even distances so that every article is in."""
    kinds: defaultdict[str, list[Sentence]] = defaultdict(list)
    for sentence in sentences:
        kinds[sentence.kind].append(sentence)
    return [
        each[int(place * max(1.0, len(each) / per_kind))]
        for each in kinds.values() for place in range(min(per_kind, len(each)))
    ]


def _indexed(passage: Passage, token_codes: bytes) -> IndexedPassage:
    return IndexedPassage(
        chunk_id=passage.passage_id, document_id=passage.passage_id, version_id="", collection="", title=passage.title,
        source="", filename="", chunk_index=0, kind="text", method="", language="", page=0, start_character=0,
        end_character=len(passage.text), token_count=0, heading_path=(), text=passage.text, category="", metadata={},
        token_codes=token_codes,
    )


def _deadline() -> Deadline:
    return Deadline.after(CALL_SECONDS_MAX)
