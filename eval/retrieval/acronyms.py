"""What acronyms bring: a set without what documents spell out, with it in full text, and embedded, too."""

from __future__ import annotations

from collections.abc import Sequence

from eval.reporting import report
from eval.retrieval.encoding import OfflineEncoder, Variant
from eval.retrieval.measures import estimate, measure
from eval.retrieval.offline import Fusion, OfflineSearch, Reranking
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets.acronyms import SpelledOut
from eval.sets.datasets import Dataset, Passage
from sourcier.services.gateway.retrieval.retriever import CANDIDATE_HEADS
from sourcier.services.index.acronyms.asking import with_long_forms

OTHERS_MAX, QUESTIONS_MAX = 500, 120
"""Passages beside the relevant ones, and questions, of a large set."""
CHARACTERS_MAX = 2_000
LIMIT, CANDIDATES = 20, 50
MODES = ("dense", "full text", "fused", "re-ranked")


def measure_acronyms(dataset: Dataset, *, model: str, engine: str) -> str:
    """Return a table of those questions that have an acronym or a long form which the passages spell out."""
    spelled = SpelledOut(dataset)
    asked = [
        each for each in dataset.questions
        if any(found.is_short or any(meaning.spelled for meaning in found.meanings) for found in spelled.of(each.text))
    ][:QUESTIONS_MAX]
    if not asked:
        return f"{dataset.name}: no question has an acronym that a passage spells out"
    relevant = {passage_id for question in asked for passage_id in question.relevant}
    others = [each for each in dataset.passages if each.passage_id not in relevant]
    kept = [each for each in dataset.passages if each.passage_id in relevant]
    kept += others[:: max(len(others) // OTHERS_MAX, 1)]
    passages = tuple(Passage(each.passage_id, each.title, each.text[:CHARACTERS_MAX]) for each in kept)
    sample = Dataset(f"{dataset.name}-sample", passages, tuple(asked))
    found = [spelled.of(each.text) for each in asked]
    encoder = OfflineEncoder(model=model, engine=engine, kept=RESULTS)
    corpus = encoder.corpus(sample, Variant(), full=False, progress=Progress("chunks encoded"))
    texts = ([each.text for each in asked],
             [with_long_forms(each.text, ones) for each, ones in zip(asked, found, strict=True)])
    plain, longer = (encoder.questions(each, progress=Progress("questions encoded")) for each in texts)
    searches = {
        "without": OfflineSearch(sample, corpus, plain),
        "in full text": OfflineSearch(sample, corpus, plain, found),
        "in full text and embedded": OfflineSearch(sample, corpus, longer, found),
    }
    rows: list[tuple[str, ...]] = [("acronyms", "ranked", "nDCG@10", "among the first 5", "difference in nDCG@10")]
    base: dict[str, list[float]] = {}
    for name, search in searches.items():
        for mode in MODES:
            values = [
                measure(search.passages(_ranked(search, mode, number)), question.relevant)
                for number, question in enumerate(asked)
            ]
            gains = [each["ndcg@10"] for each in values]
            gain = estimate([one - two for one, two in zip(gains, base.setdefault(mode, gains), strict=True)])
            rows.append((name, mode, f"{_mean(gains):.3f}", f"{_mean([each['recall@5'] for each in values]):.3f}",
                         f"{gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"))
    return f"{dataset.name}: {len(asked)} questions, {len(passages):,} passages\n\n{report.markdown_table(rows)}"


def _ranked(search: OfflineSearch, mode: str, number: int) -> list[int]:
    fusion = Fusion(heads=CANDIDATE_HEADS)
    if mode == "dense":
        ranked: list[int] = search.dense[number].chunks.tolist()
    elif mode == "full text":
        ranked = search.lexical[number].chunks.tolist()
    elif mode == "fused":
        ranked = [chunk for chunk, _ in search.fused(number, fusion, limit=LIMIT)]
    else:
        ranked = search.reranked(number, fusion, Reranking(candidates=CANDIDATES))
    return ranked[:LIMIT]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
