"""Whole answers of a real language model through the running services: right source, right words, honest refusals.

A few dozen answers, for each takes seconds: shares come with their intervals, and differences within them say nothing.
Each answer is kept as it comes: a run that is cut off goes on when it is run again, and one that failed is asked again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from eval import gates
from eval.answers import direct
from eval.answers.direct import Looked
from eval.gates import Figure
from eval.kept import Kept
from eval.reporting import report
from eval.retrieval.measures import estimate
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets import corpus, handbook
from eval.sets.datasets import Dataset, Question
from eval.sets.json_lines import read_rows
from eval.system import System
from sourcier import Client
from sourcier.errors import SourcierError
from sourcier.results import Answer

COLLECTION = "eval-answers"
PASSAGES = 160
REMOVED_EVERY = 8
"""Of the passages, one in so many is left out of the collection, and its questions are to be refused."""
FOLLOW_UPS = Path(__file__).parents[1] / "data" / "follow_ups.jsonl"
ANSWER_SECONDS_MAX = 300.0
DIRECT_ENTRIES = 40
"""Of the FAQ; each is asked in four other writings, and as what only looks like it."""
HANDBOOK, PIAF, REMOVED = "the demo's handbook", "PIAF", "PIAF, its passage removed"
PARTS = ("handbook", "piaf", "direct", "follow-ups")
FAILED = "failed"


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

    @property
    def key(self) -> str:
        """What its answer is kept under."""
        return f"answer: {self.group}: {self.question}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRun:
    """What is measured."""

    dataset: Dataset
    questions: int
    """Of the set; half as many that have no answer."""
    parts: Sequence[str] = PARTS
    model: str = "real"
    """`real` or `scripted`; results of the two are kept apart."""
    again: bool = False
    """Whether what was kept is forgotten."""
    kept_only: bool = False
    """Whether nothing is asked, and what was kept is reported."""
    document: Path | None = None
    command: str = ""
    passages: int = PASSAGES


async def measure_answers(run: AnswerRun, system: System) -> None:
    """Ask, judge, and report; keep every answer, for people to read."""
    kept = Kept(
        RESULTS / f"answers-{run.model}.jsonl", again=run.again,
        run_of=f"{run.dataset.name}, {run.passages} passages, {system.described_with_model}, {run.model}",
    )
    async with Client(system.gateway) as client:
        judged = await _answers(client, run, kept)
        looked = await _direct(client, run, kept) if "direct" in run.parts else []
        rewritten = await follow_ups(client, kept, kept_only=run.kept_only) if "follow-ups" in run.parts else []
    _report(run, system, judged, looked, rewritten)


async def _answers(client: Client, run: AnswerRun, kept: Kept) -> list[Judged]:
    """Ask the questions of the parts, those that are kept left out; return all that are answered."""
    wanted: list[Wanted] = []
    part, removed = _halved(run)
    if not run.kept_only:
        await _ingest(client, run, part, removed)
    if "handbook" in run.parts:
        wanted += handbook_questions()
    if "piaf" in run.parts:
        wanted += _sampled(part, removed, questions=run.questions)
    judged: list[Judged] = []
    progress = Progress("questions answered")
    for number, each in enumerate(wanted, start=1):
        found = kept.get(each.key)
        if found is None or found["outcome"] == FAILED:
            if run.kept_only:
                continue
            found = asdict(await judged_answer(client, each))
            kept.add(each.key, found)
        judged.append(Judged(**found))
        progress(number, len(wanted))
    failed = [each for each in judged if each.outcome == FAILED]
    if failed:
        click.echo(f"{len(failed)} questions failed and are left out; run again to ask them again: "
                   f"{failed[0].reason}", err=True)
    return [each for each in judged if each.outcome != FAILED]


async def _ingest(client: Client, run: AnswerRun, part: Dataset, removed: set[str]) -> None:
    """Ingest what the parts ask about."""
    if "handbook" in run.parts or "follow-ups" in run.parts:
        await handbook.ingest(client)
    if "piaf" in run.parts or "direct" in run.parts:
        there = Dataset(part.name, tuple(each for each in part.passages if each.passage_id not in removed), ())
        await corpus.ingest(client, there, collection=COLLECTION, progress=Progress("passages ingested"))


async def _direct(client: Client, run: AnswerRun, kept: Kept) -> list[Looked]:
    """Put questions to an FAQ of the set's own, those that are kept left out."""
    part, removed = _halved(run)
    known = Dataset("", (), tuple(each for each in part.questions if removed.isdisjoint(each.relevant)))
    entries = [each for each in known.first(DIRECT_ENTRIES).questions if each.answers]
    if not run.kept_only:
        await direct.fill(client, entries, collection=COLLECTION)
    looked: list[Looked] = []
    wanted = direct.cases(entries)
    progress = Progress("questions put to the FAQ")
    for number, (kind, text, asked) in enumerate(wanted, start=1):
        key = f"direct: {kind}: {text}: {asked}"
        found = kept.get(key)
        if found is None:
            if run.kept_only:
                continue
            found = asdict(await direct.look(client, kind, text, asked))
            kept.add(key, found)
        looked.append(Looked(**found))
        progress(number, len(wanted))
    return looked


def _halved(run: AnswerRun) -> tuple[Dataset, set[str]]:
    """Return the part of the set that is used, and the passages that are left out of the collection."""
    part = run.dataset.part(passages=run.passages, questions=len(run.dataset.questions))
    return part, {passage.passage_id for passage in part.passages[::REMOVED_EVERY]}


def _report(
    run: AnswerRun, system: System, judged: Sequence[Judged], looked: Sequence[Looked],
    rewritten: Sequence[dict[str, str]],
) -> None:
    title = (f"a real language model ({system.language_model})" if run.model == "real"
             else "a scripted model (the way there, not its words)")
    body = "\n\n".join([
        f"### Answers of {title}",
        *([answers_table(judged)] if judged else []), *([direct.table(looked)] if looked else []),
        *([follow_ups_table(rewritten)] if rewritten else []),
        report.provenance(system=system.described_with_model, command=run.command),
    ])
    click.echo(body)
    if run.model == "real":
        gates.keep(figures(judged, looked, command=run.command))
    if run.document is not None:
        report.write_block(run.document, f"answers-{run.model}", body)


def handbook_questions() -> Iterator[Wanted]:
    """Yield the demo's questions, those with an answer first."""
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


async def judged_answer(client: Client, wanted: Wanted) -> Judged:
    """Ask, and say what the answer is worth; a question that could not be answered is `FAILED`, with the reason."""
    try:
        answer = await client.answer(
            wanted.question, collection=wanted.collection, seed=0, timeout_seconds=ANSWER_SECONDS_MAX
        )
    except SourcierError as error:
        return failure(wanted, str(error))
    return judge(wanted, answer)


def failure(wanted: Wanted, reason: str) -> Judged:
    """Return what stands in the place of an answer that did not come."""
    return Judged(
        group=wanted.group, question=wanted.question, answerable=bool(wanted.source), outcome=FAILED, reason=reason,
        text="", citations=0, right_citations=0, quoted=0, right_text=False, withheld=0, seconds=0.0,
    )


def judge(wanted: Wanted, answer: Answer) -> Judged:
    """Return what an answer is worth."""
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


def figures(judged: Sequence[Judged], looked: Sequence[Looked], *, command: str) -> dict[str, Figure]:
    """Return what the gates hold."""
    there = [each for each in judged if each.answerable]
    away = [each for each in judged if not each.answerable]
    shares = {
        "answers right text": [each.right_text for each in there],
        "answers right source": [each.right_citations > 0 for each in there if each.says],
        "answers spans exist": [each.quoted == each.citations for each in judged if each.citations],
        "answers refused without an answer": [each.outcome == "refused" for each in away],
        "direct answers given": [each.as_wanted for each in looked if each.kind == direct.AGAIN],
        "direct answers not given to others": [each.as_wanted for each in looked if each.kind == direct.NEAR_MISS],
    }
    return {name: Figure.of(estimate(values), count=len(values), command=command)
            for name, values in shares.items() if values}


async def follow_ups(client: Client, kept: Kept, *, kept_only: bool = False) -> list[dict[str, str]]:
    """Ask each follow-up question in its conversation, those that are kept left out; return what it was made."""
    made = []
    for case in read_rows(FOLLOW_UPS):
        key = f"follow-up: {case['history']}: {case['question']}"
        found = kept.get(key)
        if found is None:
            if kept_only:
                continue
            found = _became(case, await _rewritten(client, case))
            kept.add(key, found)
        made.append(found)
    return made


def _became(case: dict[str, list[list[str]]], answer: Answer) -> dict[str, str]:
    became = "unchanged"
    if answer.rewritten:
        became = "self-contained" if holds(answer.rewritten, case["must"]) else "changed"
    return {
        "question": str(case["question"]), "rewritten": answer.rewritten, "became": became, "model": answer.model,
    }


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
