"""The rule of retrieval's defaults, checked on what was measured: nothing is won on one set and lost on another."""

from __future__ import annotations

from eval.retrieval.measures import Estimate
from eval.variants.measuring import Results, measure_of
from eval.variants.variants import DEFAULT, DENSE, FULL_TEXT, FUSED, MODES, RERANKED


def violations(results: Results) -> list[str]:
    """Return what breaks the rule today, a sentence each.

    On no set is re-ranking below fusion, nor fusion below the better of its two lists, by more than noise.
    """
    broken = []
    for name in results.sets_of(FUSED, RERANKED):
        if _is_a_loss(lost := results.difference(name, RERANKED, FUSED)):
            broken.append(_sentence(name, "re-ranking is below fusion", lost))
    for name in results.sets_of(DENSE, FULL_TEXT, FUSED):
        dense, words = (sum(results.values(name, mode)) for mode in (DENSE, FULL_TEXT))
        best = DENSE if dense >= words else FULL_TEXT
        if _is_a_loss(lost := results.difference(name, FUSED, best)):
            broken.append(_sentence(name, f"fusion is below {best} alone", lost))
    return broken


def refusals(results: Results) -> dict[str, list[str]]:
    """Return what forbids each variant to become the default, a sentence each; nothing for one that may."""
    variants = dict.fromkeys(name for found in results.by_set.values() for name in found if name not in MODES)
    return {
        variant: [
            _sentence(name, "it loses", lost) for name in results.sets_of(variant, DEFAULT)
            if _is_a_loss(lost := results.difference(name, variant, DEFAULT))
        ]
        for variant in variants
    }


def told(results: Results) -> str:
    """Return all that there is to say, a sentence a line."""
    lines = violations(results) or [
        "No set breaks the rule: re-ranking is nowhere below fusion, nor fusion below its better list, beyond noise."
    ]
    for variant, reasons in refusals(results).items():
        verdict = "may not become the default" if reasons else "may become the default, as far as these sets tell"
        lines.append(f"« {variant} » {verdict}{': ' if reasons else ''}{' '.join(reasons)}{'' if reasons else '.'}")
    return "\n".join(f"- {line}" for line in lines)


def _is_a_loss(difference: Estimate) -> bool:
    """Return whether a difference is below zero by more than its noise."""
    return difference.high < 0


def _sentence(name: str, what: str, lost: Estimate) -> str:
    return f"{name}: {what} by {-lost.mean:.3f} {_NAMES[measure_of(name)]} ({lost.low:+.3f} to {lost.high:+.3f})."


_NAMES = {"ndcg@10": "nDCG@10", "recall@1": "R@1", "recall@5": "R@5"}
