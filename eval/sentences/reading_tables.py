"""Wording, reader and all signs together, side by side, and the thresholds that keep what is right on all sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.reporting import report
from eval.retrieval.measures import auroc
from eval.sentences.sentences import KEPT_MIN, Checked
from sourcier.services.gateway.evidence.reading.verdicts import ReaderThresholds, Told, margin, read, together
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.peers.entailing import Relation

WITHHELD_MAX = 0.01
"""Of what is right, the share that the reader's contradictions may withhold, mean over the sets."""
GRID = tuple(step / 100 for step in range(2, 100))
REPEATED_MARGIN = 8.0
"""Of a sentence that the passage holds word for word: the reader is not asked about it."""
MARKED, WITHHELD = 6.0, 12.0
"""What a mark, or a reason to withhold, takes from the reader's log-odds in the score of all signs together."""


@dataclass(frozen=True)
class Group:
    """Kinds of sentences whose figures are against the right ones of the same origin."""

    true_kinds: frozenset[str]
    false_kinds: frozenset[str]
    contradictions_only: bool = False
    """Whether right ones need not be supported, so that only contradictions tell."""


@dataclass(frozen=True)
class Read:
    """A sentence, what wording, clauses and figures make of it, and what the reader does."""

    checked: Checked
    relations: tuple[Relation, ...]
    is_reported: bool
    seconds: float
    """For windows and reader."""

    @property
    def kind(self) -> str:
        """Return the sentence's kind."""
        return self.checked.kind

    def finding(self, thresholds: ReaderThresholds) -> Finding:
        """Return what the gateway finds."""
        finding = Finding[self.checked.finding]
        if self.checked.repeated or not finding.shown:
            return finding
        return together(finding, read(self.relations, thresholds).told)


Score = Callable[[Read], float]


def reading_table(rows: Sequence[Read], groups: Sequence[Group]) -> str:
    """Return the figures as Markdown, and the thresholds that the run would choose."""
    kinds: dict[str, list[Read]] = {}
    for each in rows:
        kinds.setdefault(each.kind, []).append(each)
    chosen = best_thresholds(kinds, groups)
    cells = [["sentence", "count", "wording", "reader", "all signs", "as checked", "marked", "withheld"]]
    means: list[tuple[float, ...]] = []
    for group in groups:
        right = [each for kind in kinds if kind in group.true_kinds for each in kinds[kind]]
        scores = _scores(contradictions_only=group.contradictions_only)
        for kind, found in kinds.items():
            if kind in group.true_kinds:
                cells.append([f"*supported:* {kind}", str(len(found)), "", "", "", *_outcomes(found, chosen)])
            elif kind in group.false_kinds and right:
                told = [(_auroc(score, right, found), caught(score, right, found)) for score in scores.values()]
                means.append(tuple(area for area, _ in told))
                cells.append([kind, str(len(found)), *(f"{area:.3f} ({share:.0%})" for area, share in told),
                              *_outcomes(found, chosen)])
    seconds = [each.seconds for each in rows]
    return "\n\n".join([
        report.markdown_table(cells),
        "AUROC against the right sentences of the same origin, and in brackets the share caught at the threshold that "
        "keeps 95 % of these, each half by the other half's. The last three columns are what the gateway does at these "
        f"thresholds, which the half that sets them has chosen over all sets: supported from {chosen.supported:.2f}, "
        f"contradicted from {chosen.contradicted:.2f}.",
        "Mean AUROC over the kinds: " + ", ".join(
            f"{name} {mean:.3f}" for name, mean in zip(_scores(), np.mean(means, axis=0) if means else (), strict=False)
        ) + ".",
        f"Windows and reader take {1000 * np.median(seconds):.0f} ms a sentence at the median, "
        f"{1000 * np.quantile(seconds, 0.95):.0f} ms at p95, over "
        f"{np.mean([len(each.relations) for each in rows]):.1f} windows.",
    ])


def _scores(*, contradictions_only: bool = False) -> Mapping[str, Score]:
    reader = _uncontradicted if contradictions_only else _margin
    return {"wording": _wording, "reader": reader, "all signs": lambda each: _together(each, reader(each))}


def _wording(each: Read) -> float:
    return each.checked.score


def _margin(each: Read) -> float:
    return margin(each.relations)


def _uncontradicted(each: Read) -> float:
    return -max(relation.contradicted for relation in each.relations)


def _together(each: Read, reader: float) -> float:
    finding = Finding[each.checked.finding]
    base = REPEATED_MARGIN if each.checked.repeated else reader
    return base - (0.0 if finding <= Finding.UNCHECKED else MARKED if finding.shown else WITHHELD)


def caught(score: Score, right: Sequence[Read], wrong: Sequence[Read]) -> float:
    """Return the share of wrong ones below the threshold that keeps 95 % of the right ones of the other half."""
    found = 0
    for half in (True, False):
        floors = sorted(score(each) for each in right if each.is_reported is not half)
        if not floors:
            return math.nan
        floor = floors[int((1 - KEPT_MIN) * len(floors))]
        found += sum(score(each) < floor for each in wrong if each.is_reported is half)
    return found / len(wrong)


def best_thresholds(kinds: Mapping[str, Sequence[Read]], groups: Sequence[Group]) -> ReaderThresholds:
    """Return the thresholds that keep 95 % of what is right as checked, and withhold 1 %, mean over the sets.

    A set whose right sentences need not be supported has a say in contradictions alone.
    """
    sets = [(
        group, [each for kind in kinds if kind in group.true_kinds for each in kinds[kind]
                if not each.is_reported and not each.checked.repeated and Finding[each.checked.finding].shown],
    ) for group in groups]
    sets = [(group, right) for group, right in sets if right]
    contradicted = next((
        value for value in GRID
        if _share(sets, ReaderThresholds(supported=0.0, contradicted=value), Told.CONTRADICTED) <= WITHHELD_MAX
    ), GRID[-1]) if sets else ReaderThresholds().contradicted
    kept = [(group, right) for group, right in sets if not group.contradictions_only]
    supported = next((
        value for value in reversed(GRID)
        if _share(kept, ReaderThresholds(supported=value, contradicted=contradicted), Told.SUPPORTED) >= KEPT_MIN
    ), GRID[0]) if kept else ReaderThresholds().supported
    return ReaderThresholds(supported=supported, contradicted=contradicted)


def _share(sets: Sequence[tuple[Group, Sequence[Read]]], thresholds: ReaderThresholds, told: Told) -> float:
    """Return the share of which the reader says so, mean over the sets."""
    return float(np.mean([
        np.mean([read(each.relations, thresholds).told is told for each in right]) for _, right in sets
    ]))


def _auroc(score: Score, right: Sequence[Read], wrong: Sequence[Read]) -> float:
    return auroc([score(each) for each in right], [score(each) for each in wrong])


def _outcomes(found: Sequence[Read], thresholds: ReaderThresholds) -> list[str]:
    findings = [each.finding(thresholds) for each in found]
    withheld = sum(not finding.shown for finding in findings) / len(findings)
    marked = sum(finding > Finding.UNCHECKED and finding.shown for finding in findings) / len(findings)
    return [f"{share:.0%}" for share in (1 - withheld - marked, marked, withheld)]
