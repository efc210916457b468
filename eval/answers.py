"""Whole answers of a real language model through the running services: right source, right words, honest refusals.

A few dozen answers, for each takes seconds: shares come with their intervals, and differences within them say nothing.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from eval import corpus, gates, handbook, report
from eval.datasets import Dataset, Question
from eval.gates import Figure
from eval.measures import estimate
from eval.retrieval import RESULTS, Progress
from eval.system import System
from sourcier import Client
from sourcier.errors import SourcierError
from sourcier.results import Answer

COLLECTION = "eval-answers"
PASSAGES = 160
REMOVED_EVERY = 8
"""Of the passages, one in so many is left out of the collection, and its questions are to be refused."""
FOLLOW_UPS = Path(__file__).parent / "data" / "follow_ups.jsonl"
ANSWER_SECONDS_MAX = 300.0
HANDBOOK, PIAF, REMOVED = "the demo's handbook", "PIAF", "PIAF, its passage removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An answer and what is known of it."""

    group: str
    question: str
    answerable: bool
    outcome: str
    reason: str
    text: str
    citations: int
    right_citations: int
    """Of them, those of the document that answers."""
    quoted: int
    """Of them, those whose span holds characters of the passage given to the model."""
    right_text: bool
    """Whether the text holds what answers."""
    withheld: int
    seconds: float

    @property
    def says(self) -> bool:
        """Whether the model's words or an extract were shown."""
        return self.outcome in ("answered", "truncated", "quoted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A question and what its answer has to be."""

    group: str
    question: str
    collection: str
    source: str
    """The document that answers; empty where none does."""
    facts: tuple[tuple[str, ...], ...]
    """Of each group, one has to be said."""


async def measure_answers(
    dataset: Dataset, system: System, *, questions: int, document: Path | None, command: str
) -> None:
    """Ask, judge, and report; keep every answer, for people to read."""
    async with Client(system.gateway) as client:
        await handbook.ingest(client)
        part = dataset.part(passages=PASSAGES, questions=len(dataset.questions))
        removed = {passage.passage_id for passage in part.passages[::REMOVED_EVERY]}
        kept = Dataset(part.name, tuple(each for each in part.passages if each.passage_id not in removed), ())
        await corpus.ingest(client, kept, collection=COLLECTION, progress=Progress("passages ingested"))
        wanted = [*_handbook(), *_sampled(part, removed, questions=questions)]
        judged = []
        progress = Progress("questions answered")
        for each in wanted:
            judged.append(await _judge(client, each))
            progress(len(judged), len(wanted))
        rewritten = await follow_ups(client)
    RESULTS.mkdir(exist_ok=True)
    lines = [*map(asdict, judged), *rewritten]
    (RESULTS / "answers.jsonl").write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8"
    )
    model = next((each["model"] for each in rewritten if each["model"]), "")
    body = "\n\n".join([
        "### Answers of a real model", answers_table(judged), follow_ups_table(rewritten),
        report.provenance(system=f"{system.described}, language model {model or 'unknown'}", command=command),
    ])
    click.echo(body)
    gates.keep(figures(judged, command=command))
    if document is not None:
        report.write_block(document, "answers", body)


def _handbook() -> Iterator[Wanted]:
    for entry in handbook.questions():
        yield Wanted(
            group=HANDBOOK, question=entry.question, collection=handbook.COLLECTION, source=entry.source,
            facts=entry.facts,
        )


def _sampled(dataset: Dataset, removed: set[str], *, questions: int) -> list[Wanted]:
    """Return questions of the passages that are there, and half as many of those that are not."""
    there = [each for each in dataset.questions if removed.isdisjoint(each.relevant)]
    away = [each for each in dataset.questions if removed.issuperset(each.relevant)]
    return [
        *(_wanted(each, PIAF) for each in Dataset("", (), tuple(there)).first(questions).questions),
        *(_wanted(each, REMOVED) for each in Dataset("", (), tuple(away)).first(questions // 2).questions),
    ]


def _wanted(question: Question, group: str) -> Wanted:
    source = next(iter(question.relevant)) if group == PIAF else ""
    return Wanted(
        group=group, question=question.text, collection=COLLECTION, source=source, facts=(question.answers,)
    )


async def _judge(client: Client, wanted: Wanted) -> Judged:
    answer = await client.answer(
        wanted.question, collection=wanted.collection, seed=0, timeout_seconds=ANSWER_SECONDS_MAX
    )
    texts = {source.chunk_id: source.text for source in answer.sources}
    return Judged(
        group=wanted.group, question=wanted.question, answerable=bool(wanted.source), outcome=answer.outcome,
        reason=answer.reason, text=answer.text, citations=len(answer.citations),
        right_citations=sum(citation.source == wanted.source for citation in answer.citations),
        quoted=sum(
            bool(texts.get(each.chunk_id, "")[each.passage_start : each.passage_end].strip())
            for each in answer.citations
        ),
        right_text=holds(answer.text, wanted.facts), withheld=len(answer.withheld),
        seconds=round(answer.durations.get("total", 0.0), 2),
    )


def holds(text: str, facts: Sequence[Sequence[str]]) -> bool:
    """Return whether a text has one of each group of facts, whatever their case and accents."""
    plain = _plain(text)
    return all(any(_plain(fact) in plain for fact in group) for group in facts)


def answers_table(judged: Sequence[Judged]) -> str:
    """Return what became of each group's questions."""
    rows = [(
        "questions", "count", "answered", "quoted", "refused before the model", "refused by the model",
        "the answer is in the text", "citations of the right document", "spans that exist", "median seconds",
    )]
    for group, answerable in ((HANDBOOK, True), (HANDBOOK, False), (PIAF, True), (REMOVED, False)):
        chosen = [each for each in judged if each.group == group and each.answerable is answerable]
        if not chosen:
            continue
        cited = sum(each.citations for each in chosen)
        refused_by_model = sum(each.reason == "MODEL_REFUSED" for each in chosen)
        refused = sum(each.outcome == "refused" for each in chosen)
        seconds = sorted(each.seconds for each in chosen)
        rows.append((
            f"{group}, {'with an answer' if answerable else 'without one'}", str(len(chosen)),
            str(sum(each.outcome in ("answered", "truncated") for each in chosen)),
            str(sum(each.outcome == "quoted" for each in chosen)), str(refused - refused_by_model),
            str(refused_by_model), str(sum(each.right_text for each in chosen)) if answerable else "",
            f"{sum(each.right_citations for each in chosen)} of {cited}" if answerable else "",
            f"{sum(each.quoted for each in chosen)} of {cited}", f"{seconds[len(seconds) // 2]:.1f}",
        ))
    return report.markdown_table(rows)


def figures(judged: Sequence[Judged], *, command: str) -> dict[str, Figure]:
    """Return what the gates hold."""
    there = [each for each in judged if each.answerable]
    away = [each for each in judged if not each.answerable]
    shares = {
        "answers right text": [each.right_text for each in there],
        "answers right source": [each.right_citations > 0 for each in there if each.says],
        "answers spans exist": [each.quoted == each.citations for each in judged if each.citations],
        "answers refused without an answer": [each.outcome == "refused" for each in away],
    }
    return {name: Figure.of(estimate(values), count=len(values), command=command)
            for name, values in shares.items() if values}


async def follow_ups(client: Client) -> list[dict[str, str]]:
    """Ask each follow-up question in its conversation; return what it was made."""
    made = []
    for line in FOLLOW_UPS.read_text("utf-8").splitlines():
        case = json.loads(line)
        rewritten = await _rewritten(client, case)
        if not rewritten.rewritten:
            became = "unchanged"
        else:
            became = "self-contained" if holds(rewritten.rewritten, case["must"]) else "changed"
        made.append({
            "question": case["question"], "rewritten": rewritten.rewritten, "became": became, "model": rewritten.model,
        })
    return made


async def _rewritten(client: Client, case: dict[str, list[list[str]]]) -> Answer:
    """Ask; what is answered does not matter, so a word is enough."""
    try:
        return await client.answer(
            str(case["question"]), collection=handbook.COLLECTION, tokens_max=1, seed=0,
            history=[(role, content) for role, content in case["history"]],  # type: ignore[misc]
            timeout_seconds=ANSWER_SECONDS_MAX,
        )
    except SourcierError as error:
        raise click.ClickException(f"{case['question']}: {error}") from error


def follow_ups_table(made: Sequence[dict[str, str]]) -> str:
    """Return what became of the follow-up questions."""
    counts = {name: sum(each["became"] == name for each in made) for name in ("self-contained", "unchanged", "changed")}
    return (
        f"Of {len(made)} follow-up questions (`eval/data/follow_ups.jsonl`), {counts['self-contained']} were made "
        f"self-contained, {counts['unchanged']} left as they were, {counts['changed']} made another question."
    )


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    return " ".join("".join(each for each in decomposed if not unicodedata.combining(each)).split())
