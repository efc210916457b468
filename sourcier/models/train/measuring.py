"""How well probabilities tell what is supported from what is not, by kind of pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sourcier.models.train.pairs import CONTRADICTED, NOT_CONTRADICTED, SUPPORTED, Pair

KEPT = 0.95


def table(pairs: Sequence[Pair], found: Sequence[Sequence[float]]) -> str:
    """Return a Markdown table: each kind that is not supported, against all that is."""
    true = sorted(row[SUPPORTED] for pair, row in zip(pairs, found, strict=True) if pair.label == SUPPORTED)
    if not true:
        return "no pair is supported"
    threshold = true[int(len(true) * (1 - KEPT))]
    kinds: dict[str, list[Sequence[float]]] = defaultdict(list)
    for pair, row in zip(pairs, found, strict=True):
        if pair.label not in (SUPPORTED, NOT_CONTRADICTED):
            kinds[pair.kind].append(row)
    lines = [f"| kind | pairs | AUROC | caught at {KEPT:.0%} kept | told as contradicted |", "|---|---|---|---|---|"]
    for kind, rows in sorted(kinds.items()):
        scores = [row[SUPPORTED] for row in rows]
        contradicted = sum(max(range(3), key=row.__getitem__) == CONTRADICTED for row in rows)
        lines.append(f"| {kind} | {len(rows)} | {auroc(true, scores):.3f} | "
                     f"{sum(score < threshold for score in scores) / len(rows):.2f} | {contradicted / len(rows):.2f} |")
    return "\n".join([*lines, f"{len(true)} supported, threshold {threshold:.3f}"])


def auroc(true: Sequence[float], false: Sequence[float]) -> float:
    """Return the share of pairs of a true and a false one of which the true one scores higher."""
    above = sum((t > f) + 0.5 * (t == f) for t in true for f in false)
    return above / (len(true) * len(false))
