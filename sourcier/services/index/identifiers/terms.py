"""Identifiers as terms of the lexical index, beside the stems of words and never among their weights.

Every term begins with a sign that no stem has. Terms of titles and headings are there twice, so that what an
identifier names comes before what mentions it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sourcier.services.index.identifiers.identifier import (
    FORM_CHARACTERS_MAX,
    Identifier,
    groups_of,
    normal_form,
)
from sourcier.services.index.identifiers.recognition import identifiers

READ = "!1"
"""A term of every passage that was read for identifiers; passages indexed before have none. The number counts what the
recognisers' normal forms are incompatible with."""
TERMS_MAX = 1_000
"""Of one passage: a list of thousands of numbers is found by the first of them."""
WHOLE, PART, JOINED, TITLE = "=", "~", "*", "^"
PREFIX_DIGITS_MIN = 6
"""Digits by which a longer number is found; the beginning of a shorter one says too little."""
_NEVER_JOINED = ("article", "date", "phone", "part")
"""Kinds of which one may be another's digits, cut elsewhere."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """The terms that an asked identifier is looked for by: the first that any passage holds count."""

    exact: tuple[str, ...]
    """What is the identifier itself, or has as its number what is asked for alone."""
    otherwise: tuple[str, ...]
    """The same written joined, where that loses where runs of digits end."""
    beginnings: tuple[str, ...]
    """What terms of longer identifiers begin with."""
    siblings: str
    """What the terms of its neighbours begin with; empty where it has none."""


def passage_terms(title: str, headings: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the distinct terms of a passage."""
    terms: dict[str, None] = {READ: None}
    if len(name := normal_form(title)) <= FORM_CHARACTERS_MAX and name:
        terms[f"{TITLE}{WHOLE}{name}"] = None
    for found in identifiers("\n".join((title, *headings))):
        for term in _terms(found):
            terms[term] = terms[f"{TITLE}{term}"] = None
    for found in identifiers(text):
        terms.update(dict.fromkeys(_terms(found)))
    return tuple(terms)[:TERMS_MAX]


def lookup(asked: Identifier) -> Lookup:
    """Return by what an identifier is looked for."""
    forms = asked.forms
    exact = [f"{sign}{form}" for sign in (WHOLE, PART) for form in forms]
    otherwise: list[str] = []
    if asked.kind == "file":
        otherwise.extend(f"{WHOLE}{part}" for part in asked.reading.parts)
    elif asked.kind not in _NEVER_JOINED:
        joined = "".join(groups_of(asked.written))
        otherwise.append(f"{JOINED}{joined}")
        if asked.reading.joined:
            otherwise.append(f"{WHOLE}{normal_form(joined)}")
    form = forms[0]
    beginnings = [f"{WHOLE}{form}-"] if asked.kind not in ("email", "file", "date") else []
    if form.isdigit() and len(form) >= PREFIX_DIGITS_MIN:
        beginnings.append(f"{WHOLE}{form}")
    parent = form.rpartition("-")[0] if asked.kind in ("article", "code", "labelled", "number") else ""
    return Lookup(tuple(exact), tuple(otherwise), tuple(beginnings), f"{WHOLE}{parent}-" if parent else "")


def shown(term: str) -> str:
    """Return a term as people would write its identifier."""
    form = term.lstrip(f"{TITLE}{WHOLE}{PART}{JOINED}")
    head, _, rest = form.partition("-")
    if head in ("l", "r", "d", "a", "lo") and rest[:1].isdigit():
        return f"{head.upper()}{rest.upper()}"
    return form if "@" in form or "." in form else form.upper()


def standing_of(asked: Identifier, *, title: str, headings: Sequence[str], text: str) -> tuple[bool, bool]:
    """Return whether a title or heading and whether the text holds an identifier, for passages without terms."""
    wanted = set(lookup(asked).exact)

    def holds(*texts: str) -> bool:
        return any(wanted.intersection(_terms(found)) for found in identifiers("\n".join(texts)))

    return holds(title, *headings), holds(text)


def _terms(found: Identifier) -> list[str]:
    terms = [f"{WHOLE}{form}" for form in found.forms]
    terms.extend(f"{PART}{part}" for part in found.reading.parts)
    if found.reading.joined:
        terms.append(f"{JOINED}{found.reading.joined}")
    return terms
