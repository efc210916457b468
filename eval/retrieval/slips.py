"""What slips of typing cost full text, kind by kind; needs no model."""

from __future__ import annotations

from eval.reporting import report
from eval.retrieval.measures import estimate, measure
from eval.retrieval.offline import LexicalIndex
from eval.sets.datasets import Dataset, Question
from eval.sets.slips import KINDS, slipped
from sourcier.services.index.language.analyser import analyse_passage

LIMIT = 20


def measure_slips(dataset: Dataset) -> str:
    """Return a table of nDCG@10: as the questions are, and with a word of six letters or more written wrongly."""
    index = LexicalIndex.of([analyse_passage(passage.title, passage.text) for passage in dataset.passages])

    def found(question: Question, text: str) -> float:
        chunks = index.search(text, limit=LIMIT).chunks.tolist()
        return measure([dataset.passages[chunk].passage_id for chunk in chunks], question.relevant)["ndcg@10"]

    rows: list[tuple[str, ...]] = [(dataset.name, "questions", "as they are", "with the slip", "difference")]
    for kind in KINDS:
        pairs = [
            (found(question, question.text), found(question, text))
            for question in dataset.questions if (text := slipped(question.text, kind)) is not None
        ]
        if pairs:
            loss = estimate([after - before for before, after in pairs])
            before, after = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
            rows.append((kind, str(len(pairs)), f"{before:.3f}", f"{after:.3f}",
                         f"{loss.mean:+.3f} ({loss.low:+.3f} to {loss.high:+.3f})"))
    return report.markdown_table(rows)
