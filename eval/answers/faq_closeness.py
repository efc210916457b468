"""How close questions are to those of an FAQ: of another article, of the same passage, and ones that only look alike.

What is close enough becomes a source of the language model (SPEC Q5); what is not, or only by chance, costs its room.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from eval.reporting import report
from eval.retrieval.encoding import FloatArray, OfflineEncoder
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets.datasets import Dataset, Question
from eval.sets.near_misses import near_misses

SIMILARITIES = (0.88, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95)


@dataclass(frozen=True)
class Closeness:
    """The cosine of each question with the closest other one of a kind."""

    another_article: FloatArray
    same_passage: FloatArray
    near_miss: FloatArray
    """Of a question with one number or name changed, with the one it was made of."""


def measure_closeness(
    dataset: Dataset, *, questions: int, model: str, engine: str, document: Path | None, command: str
) -> None:
    """Compare questions with one another, and report."""
    chosen = sample(dataset.questions, questions)
    encoder = OfflineEncoder(model=model, engine=engine, kept=RESULTS)
    misses = near_misses([question.text for question in chosen[: questions // 2]])
    texts = [question.text for question in chosen]
    vectors = encoder.questions(texts, progress=Progress("questions encoded")).vectors
    missed = encoder.questions([miss.asked for miss in misses], progress=Progress("near misses encoded")).vectors
    places = {text: place for place, text in enumerate(texts)}
    titles = {passage.passage_id: passage.title for passage in dataset.passages}
    homes = [sorted(question.relevant)[0] for question in chosen]
    found = closeness(vectors, passages=homes, articles=[titles[home] for home in homes], near_miss=np.array([
        float(vector @ vectors[places[miss.known]]) for vector, miss in zip(missed, misses, strict=True)
    ], dtype=np.float32))
    body = "\n\n".join([
        "### Questions close to those of an FAQ", table(found, questions=len(chosen)),
        report.provenance(system=f"{model}, {encoder.engine}", command=command),
    ])
    click.echo(body)
    if document is not None:
        report.write_block(document, "faq", body)


def sample(questions: Sequence[Question], count: int, *, seed: int = 3) -> list[Question]:
    """Return so many questions, the same for the same seed, no text twice."""
    distinct = list({question.text: question for question in questions}.values())
    random.Random(seed).shuffle(distinct)
    return distinct[:count]


def closeness(
    vectors: FloatArray, *, passages: Sequence[str], articles: Sequence[str], near_miss: FloatArray
) -> Closeness:
    """Return how close each question (rows of L2 norm 1) is to the closest other one of each kind it has."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1.0)
    article, passage = np.array(articles), np.array(passages)
    other, same = [], []
    for place in range(len(vectors)):
        other.append(max(cosines[place][article != article[place]], default=-1.0))
        siblings = passage == passage[place]
        siblings[place] = False
        if siblings.any():
            same.append(cosines[place][siblings].max())
    return Closeness(np.array(other, dtype=np.float32), np.array(same, dtype=np.float32), near_miss)


def table(found: Closeness, *, questions: int) -> str:
    """Return which share of questions is as close as each similarity."""
    rows: list[tuple[str, ...]] = [(
        "similarity", f"closest of {questions - 1:,} others, of another article", "closest of the same passage",
        "another number or name",
    )]
    rows += [
        (f"{similarity:g}", *(
            f"{float((values >= similarity).mean()):.1%}" if len(values) else "none"
            for values in (found.another_article, found.same_passage, found.near_miss)
        ))
        for similarity in SIMILARITIES
    ]
    return report.markdown_table(rows)
