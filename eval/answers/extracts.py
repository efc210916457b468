"""The sentence that is shown at once: how often there is one, how often it holds the answer, and what choosing takes.

Searches are made in this process with the services' own code. A set's question counts as answered where the sentence
holds a reference answer, word for word; asked again without its passages, any sentence is a wrong one.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from eval.refusals.refusals import MODEL
from eval.retrieval.asking import Asked
from eval.retrieval.encoding import OfflineEncoder
from eval.retrieval.offline_asking import OfflineAsker
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets import handbook
from eval.sets.datasets import Dataset
from eval.sets.halves import TODAY
from sourcier.services.gateway.clauses.questions import asked as asks_yes_or_no
from sourcier.services.gateway.clauses.ruling import Source
from sourcier.services.gateway.extracts.asking import Kind, wanted
from sourcier.services.gateway.extracts.choosing import Chosen, choose
from sourcier.services.gateway.retrieval.ranking_order import ordered
from sourcier.services.index.language.stop_words import fold

CANDIDATES, PASSAGES = 20, 5


@dataclass(frozen=True)
class Asking:
    """A question, the words of which its answer holds one of each group, and the documents that answer it."""

    question: str
    facts: tuple[tuple[str, ...], ...]
    relevant: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Outcome:
    """What was chosen for one question."""

    group: str
    kind: Kind
    chosen: Chosen | None
    right: bool
    seconds: float


async def measure_extracts(datasets: Sequence[Dataset], *, engine: str) -> str:
    """Return how often a sentence is shown and right, by set and whether a value is asked for, as Markdown."""
    asker = OfflineAsker(OfflineEncoder(model=MODEL, engine=engine, kept=RESULTS), progress=Progress)
    collection = await asker.hold_files(handbook.paths(), name=handbook.COLLECTION)
    outcomes = await _outcomes(asker, collection, handbook_questions())
    for dataset in datasets:
        rows = [("", Asking(each.text, (each.answers,), frozenset(each.relevant)))
                for each in dataset.questions if each.answers]
        outcomes += await _outcomes(asker, await asker.hold(dataset), rows)
    return table(outcomes)


def handbook_questions() -> list[tuple[str, Asking]]:
    """Return the demo's questions, in other words, and in other languages, by what sets them apart."""
    answerable = [each for each in handbook.questions() if each.answerable]
    facts = [each.facts for each in answerable]
    return [
        *(("", Asking(each.question, each.facts)) for each in handbook.questions()),
        *((", reworded", Asking(text, facts[place // 3])) for place, text in enumerate(handbook.reworded())),
        *((f", in {language}", Asking(text, facts[place % len(facts)]))
          for place, (text, language) in enumerate(handbook.translated())),
    ]


async def _outcomes(asker: OfflineAsker, collection: str, rows: Sequence[tuple[str, Asking]]) -> list[Outcome]:
    await asker.prepare([asking.question for _, asking in rows], collection=collection)
    found: list[Outcome] = []
    for group, asking in rows:
        if asks_yes_or_no(asking.question, today=TODAY) is not None:
            continue
        searched = await asker.ask(asking.question, collection=collection)
        found.append(_outcome(f"{collection}{group}" if asking.facts else f"{collection}, no answer", asking, searched))
        if asking.relevant:
            found.append(_outcome(f"{collection}, without its passages", asking, searched, without=asking.relevant))
    return found


def _outcome(group: str, asking: Asking, searched: Asked, *, without: frozenset[str] = frozenset()) -> Outcome:
    results = [each for each in searched.results if each.passage.document_id not in without][:CANDIDATES]
    scores = {each.passage.chunk_id: searched.scores[each.passage.chunk_id] for each in results}
    ranked = ordered(results, scores, question=asking.question)
    sources = [
        Source(number, each.passage.text, "\n".join((each.passage.title, *each.passage.heading_path)))
        for number, each in enumerate(ranked[:PASSAGES], start=1)
    ]
    started = time.process_time()
    chosen = choose(asking.question, sources, today=TODAY)
    seconds = time.process_time() - started
    right = chosen is not None and not without and _holds(asking, sources[chosen.sentence.number - 1], chosen)
    return Outcome(group, wanted(asking.question).kind, chosen, right, seconds)


def _holds(asking: Asking, source: Source, chosen: Chosen) -> bool:
    text = plain(" ".join([
        *(source.text[start:end] for start, end in chosen.sentence.spans),
        *(f"{source.text[cell.start : cell.end]} {cell.header.removeprefix('Nombre de ')}"
          for cell in chosen.sentence.cells),
    ]))
    return bool(asking.facts) and all(any(plain(fact) in text for fact in group) for group in asking.facts)


def plain(text: str) -> str:
    """Return a text as answers are looked for in it."""
    return " ".join(fold(text.casefold().replace("\u2019", "'")).split())


def table(outcomes: Iterable[Outcome]) -> str:
    """Return the outcomes as Markdown."""
    groups: defaultdict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for each in outcomes:
        groups[each.group, "other" if each.kind is Kind.OTHER else "a value"].append(each)
    lines = ["| set | asks for | questions | shown | of these right | sure of it | of these right | ms, median |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]
    for (group, kind), asked in sorted(groups.items()):
        shown = [one for one in asked if one.chosen is not None]
        sure = [one for one in shown if one.chosen is not None and one.chosen.is_sure]
        lines.append(
            f"| {group} | {kind} | {len(asked)} | {_share(len(shown), len(asked))} | {_right(shown)} | "
            f"{_share(len(sure), len(asked))} | {_right(sure)} | "
            f"{1_000 * np.median([one.seconds for one in asked]):.0f} |"
        )
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def _right(outcomes: Sequence[Outcome]) -> str:
    return f"{sum(each.right for each in outcomes)} of {len(outcomes)}"
