"""The figures of questions on what holds, as Markdown, and what went wrong, a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from eval.times.deciding import Shown
from eval.times.families import Half

OUTCOMES = ("right", "quoted", "open", "other", "false")
CONFLICTS = ("told", "missed", "needless")


def answers_table(answers: Sequence[Shown]) -> str:
    """Return by kind of family what is shown, and what is told of other documents."""
    lines = [
        "| half | kind | questions | right | quoted | open | another clause | **false** | conflicts | told | missed | "
        "needless |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    halves = sorted({each.asked.half for each in answers}, reverse=True)
    for name in halves:
        here = [each for each in answers if each.asked.half == name]
        kinds = sorted({each.asked.kind for each in here})
        lines += [_row(name, kind, [each for each in here if each.asked.kind == kind]) for kind in kinds]
        lines.append(_row(f"**{name}**", "**all**", here))
    return "\n".join(lines)


def _row(half: str, kind: str, answers: Sequence[Shown]) -> str:
    outcomes = Counter(each.outcome for each in answers)
    conflicts = Counter(each.conflict for each in answers)
    cells = (
        half, kind, len(answers), *(outcomes[each] for each in OUTCOMES), sum(each.asked.conflict for each in answers),
        *(conflicts[each] for each in CONFLICTS),
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def errors(answers: Iterable[Shown]) -> Iterator[str]:
    """Give a line for each question that is not right, or whose conflict is not told right."""
    for each in answers:
        if each.outcome != "right" or each.conflict in ("missed", "needless"):
            asked = each.asked
            told = ", ".join(sorted(each.aside)) + (f" / open {', '.join(sorted(each.open))}" if each.open else "")
            yield (
                f"{asked.half} {asked.kind} {asked.family}: {asked.question} → {each.outcome}, {each.conflict}; "
                f"{each.word} « {each.text} » ({each.source}); aside {told or '-'}; "
                f"wanted {'|'.join(asked.values)} ({asked.holds or '-'}), aside {', '.join(sorted(asked.aside)) or '-'}"
            )


def simple_rules(half: Half) -> dict[str, int]:
    """Return how many questions two simple rules have right: the later document always, and a warning always."""
    later = warned = 0
    for asked in half.questions:
        family = [each for each in half.documents if half.family_of[each.name] == asked.family]
        latest = max(family, key=lambda each: each.times.start.isoformat() if each.times.start else "")
        later += asked.holds == latest.name
        warned += asked.conflict
    return {"always the later": later, "always a warning": warned}


def listed_line(half: Half, found: Sequence[tuple[str, str, str]]) -> str:
    """Return how the list of a collection's conflicts compares with what it should be, as a table's row."""
    pairs = {(holds, other) for holds, other, _ in found}
    right = len([pair for pair in pairs if pair in half.conflicts])
    turned = len([(holds, other) for holds, other, why in found if why and (other, holds) in half.decided])
    wanted = len(half.decided) + len(half.conflicts - half.decided) // 2
    return f"| {half.name} | {wanted} | {len(found)} | {right} | {turned} | {len(found) - right - turned} |"
