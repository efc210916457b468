"""Variants on all sets in one table, and the forms that questions are written in, such as identifiers, in others."""

from __future__ import annotations

from eval.reporting import report
from eval.retrieval.measures import estimate
from eval.variants.measuring import Results, measure_of
from eval.variants.variants import DEFAULT

_SIGNS = {"ndcg@10": "", "recall@1": ", R@1", "recall@5": ", R@5"}


def main_table(results: Results) -> str:
    """Return a row for each variant: what counts on each set, the mean, the worst loss against the default, the cost.

    The noise of a set is that of the default alone; differences have their own, which is less.
    """
    names = list(results.by_set)
    variants = list(dict.fromkeys(variant for found in results.by_set.values() for variant in found))
    rows = [("", *(f"{name}{_SIGNS[measure_of(name)]}" for name in names), "mean", "worst loss against the default",
             "index bytes a passage")]
    rows += [(
        f"**{variant}**" if variant == DEFAULT else variant, *(_cell(results, name, variant) for name in names),
        _mean(results, variant), _worst(results, variant), _bytes(results, variant),
    ) for variant in variants]
    if any(DEFAULT in found for found in results.by_set.values()):
        rows.append(("noise of the default", *(_noise(results, name) for name in names), "", "", ""))
    return report.markdown_table(rows)


def forms_table(results: Results) -> str:
    """Return what counts on each form of question by variant; empty where no set tells forms."""
    tables = []
    for name, found in results.by_set.items():
        forms = list(dict.fromkeys(form for each in found.values() for form in each.forms if form))
        if not forms:
            continue
        rows = [(f"{name}{_SIGNS[measure_of(name)]}", "questions", *found)]
        for form in forms:
            places = [place for place, each in enumerate(next(iter(found.values())).forms) if each == form]
            rows.append((form, str(len(places)), *(
                f"{sum(results.values(name, variant)[place] for place in places) / len(places):.3f}"
                for variant in found
            )))
        tables.append(report.markdown_table(rows))
    return "\n\n".join(tables)


def _cell(results: Results, name: str, variant: str) -> str:
    if variant not in results.by_set[name]:
        return ""
    values = results.values(name, variant)
    return f"{sum(values) / len(values):.3f}"


def _mean(results: Results, variant: str) -> str:
    """Return the mean over sets, each counting once; empty where a set lacks, for then it compares with no other."""
    if len(results.sets_of(variant)) < len(results.by_set):
        return ""
    means = [sum(values) / len(values) for values in (results.values(name, variant) for name in results.by_set)]
    return f"{sum(means) / len(means):.3f}"


def _worst(results: Results, variant: str) -> str:
    losses = {name: results.difference(name, variant, DEFAULT) for name in results.sets_of(variant, DEFAULT)}
    if variant == DEFAULT or not losses:
        return ""
    name, worst = min(losses.items(), key=lambda item: item[1].mean)
    return f"{name} {worst.mean:+.3f} ({worst.low:+.3f} to {worst.high:+.3f})" if worst.mean < 0 else "none"


def _bytes(results: Results, variant: str) -> str:
    found = [held[variant].bytes_a_passage for held in results.by_set.values() if variant in held]
    return f"{sum(found) / len(found):,.0f}"


def _noise(results: Results, name: str) -> str:
    if DEFAULT not in results.by_set[name]:
        return ""
    found = estimate(results.values(name, DEFAULT))
    return f"±{(found.high - found.low) / 2:.3f}"

