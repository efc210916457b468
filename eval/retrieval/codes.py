"""What codes of one bit lose against token vectors in full, by what full text adds to them, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from eval.reporting import report
from eval.retrieval.encoding import OfflineEncoder, Variant
from eval.retrieval.measures import Estimate, estimate, measure
from eval.retrieval.offline import Fusion, OfflineSearch, Precision, Reranking
from eval.retrieval.parts import CANDIDATES, LIMIT
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets.datasets import Dataset
from sourcier.services.gateway.retrieval.ranking_order import LEXICAL_POWER, LEXICAL_WEIGHT

SHARES = ((0.0, 1.0), (0.07, 1.0), (0.08, 1.0), (0.1, 1.0), (0.05, 2.0), (0.06, 2.0), (0.07, 2.0), (0.05, 3.0))
"""Weight and power of the share of BM25; 0.07 and 1 is what the gateway had before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What is lost with one way to add full text."""

    weight: float
    power: float
    one_bit: float
    """nDCG@10."""
    full: float
    difference: Estimate
    """Of one bit to full, question by question."""

    @property
    def relative(self) -> float:
        """What one bit loses, as a share of what there is in full."""
        return 1 - self.one_bit / self.full


def measure_codes(dataset: Dataset, *, model: str, engine: str, document: Path | None, command: str) -> None:
    """Encode, rank both ways and print; write the table into the document."""
    encoder = OfflineEncoder(model=model, engine=engine, kept=RESULTS)
    questions = encoder.questions([each.text for each in dataset.questions], progress=Progress("questions encoded"))
    corpus = encoder.corpus(dataset, Variant(), full=True, progress=Progress("chunks encoded"))
    search = OfflineSearch(dataset, corpus, questions)
    losses = [_loss(dataset, search, weight, power) for weight, power in SHARES]
    body = "\n\n".join([
        f"### What one bit a dimension loses: {dataset.name}, {len(dataset.questions):,} questions",
        codes_table(losses),
        report.provenance(
            system=f"{encoder.model.manifest.name} (revision {encoder.model.manifest.revision}), {encoder.engine}",
            command=command,
        ),
    ])
    click.echo(body)
    if document is not None:
        report.write_block(document, f"codes-{dataset.name}-{encoder.engine}", body)


def _loss(dataset: Dataset, search: OfflineSearch, weight: float, power: float) -> Loss:
    reranking = Reranking(candidates=CANDIDATES, lexical_weight=weight, lexical_power=power)

    def gains(precision: Precision) -> list[float]:
        return [
            measure(search.passages(search.reranked(number, Fusion(), replace(reranking, precision=precision)))[:LIMIT],
                    question.relevant)["ndcg@10"]
            for number, question in enumerate(dataset.questions)
        ]

    one_bit, full = gains("one bit"), gains("full")
    return Loss(
        weight=weight, power=power, one_bit=sum(one_bit) / len(one_bit), full=sum(full) / len(full),
        difference=estimate([one - other for one, other in zip(one_bit, full, strict=True)]),
    )


def codes_table(losses: Sequence[Loss]) -> str:
    """Return the losses as Markdown; what the gateway does is in bold."""
    rows = [("full text adds", "one bit, nDCG@10", "in full", "difference", "of what there is in full")]
    for each in losses:
        ours = (each.weight, each.power) == (LEXICAL_WEIGHT, LEXICAL_POWER)
        name = f"{each.weight:g} × (BM25 / best BM25){f'^{each.power:g}' if each.power != 1 else ''}"
        difference = each.difference
        rows.append((
            f"**{name}** (what the gateway does)" if ours else name if each.weight else "nothing",
            f"{each.one_bit:.4f}", f"{each.full:.4f}",
            f"{difference.mean:+.4f} ({difference.low:+.4f} to {difference.high:+.4f})", f"{-each.relative:+.2%}",
        ))
    return report.markdown_table(rows)
