"""One run over the set: search, decide, compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eval.sets import datasets
from eval.times.deciding import Shown, listed, shown
from eval.times.families import half
from eval.times.searching import by_model, by_words
from eval.times.tables import answers_table, errors, listed_line, simple_rules
from eval.times.undisturbed import undisturbed


def measure_undisturbed(folders: Sequence[Path]) -> str:
    """Return what is put aside in sets without documents that replace one another, as Markdown."""
    rows = [undisturbed(datasets.load(folder)) for folder in folders]
    return "\n".join([
        "| set | questions | with a passage put aside | that is relevant | with two told to disagree |",
        "|---|---|---|---|---|", *rows,
    ])


def measure_in_force(halves: Sequence[str], *, words: bool, shown_errors: bool, engine: str) -> str:
    """Return the tables of these halves as Markdown, and with `shown_errors` what is not right."""
    answers: list[Shown] = []
    lists: list[str] = []
    rules: list[str] = []
    wrong: list[str] = []
    for name in halves:
        chosen = half(name)
        here = shown(chosen, by_words(chosen) if words else by_model(chosen, engine=engine))
        answers += here
        found = listed(chosen)
        lists.append(listed_line(chosen, found))
        rules += [f"{name}, {rule}: {right} of {len(here)}" for rule, right in simple_rules(chosen).items()]
        wrong += [*errors(here), *(f"{name} listed: {each}" for each in found if each[:2] not in chosen.conflicts)]
        pairs = {each[:2] for each in found}
        wrong += [f"{name} not listed: {each}" for each in sorted(chosen.conflicts)
                  if each not in pairs and each[::-1] not in pairs]
    table = "\n".join([
        "| half | conflicts | listed | right | wrong way round | none |", "|---|---|---|---|---|---|", *lists
    ])
    return "\n\n".join([answers_table(answers), table, "\n".join(rules), *(["\n".join(wrong)] if shown_errors else [])])
