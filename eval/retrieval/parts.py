"""What each part of retrieval brings: the same set with one part changed or left out, ranked in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from eval.reporting import report
from eval.retrieval.encoding import WHOLE, EncodedQuestions, OfflineEncoder, Variant
from eval.retrieval.measures import estimate, measure
from eval.retrieval.offline import Fusion, OfflineSearch, Reranking
from eval.retrieval.repetitions import compare
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets.datasets import Dataset
from eval.sets.rare_names import rare_names
from sourcier.services.gateway.retrieval.categories import named_categories
from sourcier.services.gateway.retrieval.near_duplicates import says
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration

SHOWN = ("ndcg@10", "recall@5", "recall@20")
GATEWAY = Fusion()
"""What the index does, but for the heads, which the table of fusions measures."""
CANDIDATES = 50
LIMIT = 20
Ranker = Callable[[OfflineSearch, int], list[int]]


@dataclass(frozen=True, slots=True)
class Part:
    """A row of the table."""

    name: str
    search: OfflineSearch
    rank: Ranker
    against: str = ""
    """The row it is compared with; empty for none."""


def measure_parts(dataset: Dataset, *, model: str, engine: str, document: Path | None, command: str) -> None:
    """Encode, rank and print; write the tables into the document."""
    encoder = OfflineEncoder(model=model, engine=engine, kept=RESULTS)
    questions = encoder.questions([each.text for each in dataset.questions], progress=Progress("questions encoded"))

    def searched(variant: Variant, *, full: bool = False) -> OfflineSearch:
        corpus = encoder.corpus(dataset, variant, full=full, progress=Progress("chunks encoded"))
        return OfflineSearch(dataset, corpus, questions)

    whole = searched(Variant(), full=True)
    tables = [
        ("What each part brings", _parts(dataset, whole, searched)),
        ("How the two lists are fused", _fusions(dataset, whole, encoder)),
        ("Which passages count once", f"{compare(dataset, encoder)}\n\n{_suppressed(dataset, whole)}"),
        ("Categories by embedding", _categories(dataset, encoder, questions)),
    ]
    origin = report.provenance(
        system=f"{encoder.model.manifest.name} (revision {encoder.model.manifest.revision}), {encoder.engine}",
        command=command,
    )
    name = f"parts-{dataset.name}-{encoder.engine}"
    body = "\n\n".join(f"### {title}: {dataset.name}, {len(dataset.questions):,} questions\n\n{table}"
                       for title, table in tables)
    click.echo(f"\n{body}\n")
    if document is not None:
        report.write_block(document, name, f"{body}\n\n{origin}")


def _parts(dataset: Dataset, whole: OfflineSearch, searched: Callable[[Variant], OfflineSearch]) -> str:
    best = Reranking(candidates=CANDIDATES)

    def reranked(reranking: Reranking) -> Ranker:
        return lambda search, number: search.reranked(number, GATEWAY, reranking)

    base = f"re-ranked, {CANDIDATES} candidates"
    parts = [
        Part("dense", whole, lambda search, number: search.dense[number].chunks.tolist()),
        Part("full text", whole, lambda search, number: search.lexical[number].chunks.tolist()),
        Part("fused", whole, lambda search, number: [
            chunk for chunk, _ in search.fused(number, GATEWAY, limit=CANDIDATES)
        ]),
        Part("re-ranked, 20 candidates", whole, reranked(replace(best, candidates=20))),
        Part(base, whole, reranked(best)),
        Part("… token vectors in full instead of one bit a dimension", whole,
             reranked(replace(best, precision="full")), base),
        Part("… late interaction alone, without the share of full text", whole,
             reranked(replace(best, lexical_weight=0.0)), base),
        Part("… without the title in the embedded text", searched(Variant(title_embedded=False)), reranked(best), base),
        Part("… without the title in the embedded text and in full text",
             searched(Variant(title_embedded=False, title_words=False)), reranked(best), base),
    ]
    for target, maximum in ((256, 384), (128, 192), (64, 96)):
        chunking = ChunkingConfiguration.of(
            method=WHOLE.method, unit=WHOLE.unit, target=target, maximum=maximum, overlap=0
        )
        parts.append(Part(f"… chunks of {target} tokens, {maximum} at most, instead of {WHOLE.target}",
                          searched(Variant(chunking)), reranked(best), base))
    return _table(dataset, parts)


def _table(dataset: Dataset, parts: Sequence[Part]) -> str:
    measured: dict[str, list[dict[str, float]]] = {}
    rows = [("", "chunks", *(report.COLUMNS[name] for name in SHOWN), "difference in nDCG@10")]
    for part in parts:
        values = measured[part.name] = [
            measure(part.search.passages(part.rank(part.search, number))[:LIMIT], question.relevant)
            for number, question in enumerate(dataset.questions)
        ]
        rows.append((
            part.name, f"{len(part.search.corpus.texts):,}",
            *(f"{estimate([value[name] for value in values]).mean:.4f}" for name in SHOWN),
            _difference(values, measured.get(part.against)),
        ))
    return report.markdown_table(rows)


def _difference(values: Sequence[dict[str, float]], base: Sequence[dict[str, float]] | None) -> str:
    if base is None:
        return ""
    gain = estimate([value["ndcg@10"] - other["ndcg@10"] for value, other in zip(values, base, strict=True)])
    return f"{gain.mean:+.4f} ({gain.low:+.4f} to {gain.high:+.4f})"


def _fusions(dataset: Dataset, whole: OfflineSearch, encoder: OfflineEncoder) -> str:
    people = rare_names()
    names = OfflineSearch(
        people, encoder.corpus(people, Variant(), full=False, progress=Progress("letters encoded")),
        _named(people, encoder),
    )
    rows: list[tuple[str, ...]] = [
        ("constant, depth, weights, heads", "fused nDCG@10", "R@20", "R@50", "re-ranked, 20", "re-ranked, 50",
         "rare names among 20 candidates", "first after re-ranking"),
    ]
    for fusion in FUSIONS:
        rows.append((
            _named_fusion(fusion),
            *(f"{value:.4f}" for value in _fused_figures(dataset, whole, fusion)),
            *(f"{value:.2f}" for value in _name_figures(people, names, fusion)),
        ))
    return report.markdown_table(rows)


def _fused_figures(dataset: Dataset, search: OfflineSearch, fusion: Fusion) -> tuple[float, ...]:
    figures: list[tuple[float, ...]] = []
    for number, question in enumerate(dataset.questions):
        fused = search.passages([chunk for chunk, _ in search.fused(number, fusion, limit=CANDIDATES)])
        cut = search.passages([chunk for chunk, _ in search.fused(number, fusion, limit=LIMIT)])
        ranked = [
            search.passages(search.reranked(number, fusion, Reranking(candidates=candidates)))[:LIMIT]
            for candidates in (20, CANDIDATES)
        ]
        found = len(question.relevant)
        figures.append((
            measure(cut, question.relevant)["ndcg@10"], sum(each in question.relevant for each in cut) / found,
            sum(each in question.relevant for each in fused) / found,
            *(measure(each, question.relevant)["ndcg@10"] for each in ranked),
        ))
    return tuple(sum(column) / len(figures) for column in zip(*figures, strict=True))


def _name_figures(people: Dataset, search: OfflineSearch, fusion: Fusion) -> tuple[float, float]:
    among = first = 0
    for number, question in enumerate(people.questions):
        ranked = search.passages(search.reranked(number, fusion, Reranking(candidates=20)))
        among += any(each in question.relevant for each in ranked)
        first += ranked[0] in question.relevant
    return among / len(people.questions), first / len(people.questions)


def _suppressed(dataset: Dataset, search: OfflineSearch) -> str:
    """Say what it costs to let passages that say the same count once: how many, and the right one among them."""
    left_out = lost = 0
    repeated = _repetitions(search)
    for number, question in enumerate(dataset.questions):
        kept: list[int] = []
        for chunk in search.reranked(number, GATEWAY, Reranking(candidates=CANDIDATES)):
            if any((held, chunk) in repeated for held in kept):
                left_out += 1
                lost += search.passages([chunk])[0] in question.relevant
            else:
                kept.append(chunk)
    return (
        f"Of the {CANDIDATES} re-ranked candidates of each question, {left_out} in all say what a better one says, and "
        f"{lost} of them are what the question asks for."
    )


def _repetitions(search: OfflineSearch) -> set[tuple[int, int]]:
    """Return the pairs of chunks of which the first says all that the second does."""
    texts, stems = search.corpus.texts, search.corpus.stems
    return {
        (held, chunk) for held in range(len(texts)) for chunk in range(len(texts))
        # Words that nearly all differ need not be compared one by one.
        if held != chunk and 2 * len(stems[held] & stems[chunk]) >= len(stems[chunk])
        and says(texts[held], texts[chunk])
    }


def _categories(dataset: Dataset, encoder: OfflineEncoder, questions: EncodedQuestions) -> str:
    """Take each article's title for a category: how often is the closest title to a question its own?"""
    titles = list(dict.fromkeys(passage.title for passage in dataset.passages))
    vectors = encoder.questions(titles, progress=Progress("titles encoded")).vectors
    similarities = questions.vectors @ vectors.T
    homes = {passage.passage_id: titles.index(passage.title) for passage in dataset.passages}
    own = [{homes[each] for each in question.relevant} for question in dataset.questions]
    order = (-similarities).argsort(axis=1)
    first = sum(int(order[number, 0]) in places for number, places in enumerate(own)) / len(own)
    three = sum(not places.isdisjoint(order[number, :3].tolist()) for number, places in enumerate(own)) / len(own)
    named = [named_categories(question.text, titles) for question in dataset.questions]
    hits = sum(bool({titles.index(each) for each in found} & own[number]) for number, found in enumerate(named))
    said = sum(bool(found) for found in named)
    return report.markdown_table([
        ("categories are the titles of the articles", "questions narrowed", "of them rightly"),
        ("the closest title, by cosine", "100.0%", f"{first:.1%}"),
        ("the three closest titles, by cosine", "100.0%", f"{three:.1%}"),
        ("titles whose words stand in the question (what the gateway does)", f"{said / len(own):.1%}",
         f"{hits / max(said, 1):.1%}"),
    ])


def _named(people: Dataset, encoder: OfflineEncoder) -> EncodedQuestions:
    return encoder.questions([each.text for each in people.questions], progress=Progress("questions encoded"))


def _named_fusion(fusion: Fusion) -> str:
    weights = f"{fusion.dense_weight:g}:{fusion.lexical_weight:g}"
    return f"{fusion.constant:g}, {fusion.depth}, {weights}, {fusion.heads}"


FUSIONS = (
    Fusion(), Fusion(depth=50), Fusion(constant=20), Fusion(constant=10),
    Fusion(lexical_weight=1.5), Fusion(dense_weight=1.5), Fusion(heads=1), Fusion(heads=3), Fusion(heads=5),
    Fusion(depth=50, heads=3), Fusion(constant=20, heads=3), Fusion(constant=10, depth=50, heads=3),
)
