"""Values that change: which one was before, which one comes, and by how much or to how much something changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sourcier.services.index.language.stop_words import fold_in_place

_AMOUNT = r"(?P<{0}>\d+(?:[ \u00a0\u202f]\d{{3}})*(?:[.,]\d+)?)"
_UNIT = r"[ \u00a0]?(?:€|%|£|\$|[a-z²³]{1,12})?(?: (?:ht|ttc|par [a-z]{1,12}|per [a-z]{1,12}))?"
_SIGN = r"[£$€]?"
_MOVES = (
    r"(?:pass(?:e|ent|er|era|eront|ait|ant)|port(?:e|ee|es|ees|er|ent)|augment\w{0,6}|baiss\w{0,6}|ramen\w{0,5}|"
    r"relev\w{0,5}|redui\w{0,6}|diminu\w{0,6}|mont(?:e|ent|era)|evolu\w{0,5}|ris(?:e|es|en|ing)|rose|rais(?:e|ed|es)|"
    r"increas\w{0,3}|reduc\w{0,4}|f[ae]ll(?:s|en)?|goes|go|went|cut|change[sd]?|drop(?:s|ped)?)"
)
_FROM_TO = re.compile(
    rf"\b{_MOVES}\b[^.;\d]{{0,30}}\b(?:de|du|d'|from) {_SIGN}{_AMOUNT.format('old')}{_UNIT}"
    rf" (?:a|au|to) {_SIGN}{_AMOUNT.format('new')}"
)
_NOW_THEN = re.compile(
    rf"\b(?:aujourd['’]hui|actuellement|currently|now)[^.;\d]{{0,12}}{_SIGN}{_AMOUNT.format('old')}{_UNIT},? "
    rf"[^.;\d]{{0,20}}\b(?:port|pass|ramen|relev|fix|rais|increas|reduc)\w{{0,6}} (?:a|to) {_SIGN}"
    rf"{_AMOUNT.format('new')}"
)
_AGAINST_NOW = re.compile(
    rf"\b{_MOVES} (?:a|to) {_SIGN}{_AMOUNT.format('new')}{_UNIT},? (?:contre|against|compared with) {_SIGN}"
    rf"{_AMOUNT.format('old')}"
)
_BY = re.compile(
    r"\b(?:augment\w{0,6}|hausse\w{0,2}|baiss\w{0,6}|diminu\w{0,6}|redui\w{0,6}|reduction\w{0,1}|major\w{0,7}|"
    r"recul\w{0,4}|progress\w{0,6}|relev\w{0,6}|increas\w{0,3}|ris(?:e|es|en)|rose|f[ae]ll(?:s|en)?|reduc\w{0,5}|"
    r"rais(?:e|ed|es)|cut|drop\w{0,4})(?: (?:annuelle|generale|moyenne|des? [a-z]{1,20}|en [a-z]{1,12}))?"
    r" (?:de|d'|by|of) $"
)
_TO = re.compile(
    rf"\b{_MOVES}(?: [a-z]{{1,14}}){{0,2}} (?:a|to) $|\b(?:ramene|porte|reduit|limite)\w{{0,5}}"
    r"(?: [a-z]{1,14}){0,3} a $"
)
_NOW = re.compile(r"\b(?:aujourd['’]hui|actuel\w{0,6}|en ce moment|a ce jour|now|currently|current|at present|today)\b")
_THEN = re.compile(
    r"\b(?:sera|seront|passera|passeront|augmenteront|coutera|couteront|augmentera\w{0,2}|baissera\w{0,2}|vaudra|"
    r"paiera\w{0,3}|"
    r"will|shall|a (?:compter|partir) d|from \d|des le|prochain\w{0,4}|next|"
    r"pass(?:e|ent) a|port(?:e|ee|es|ees) a|augmente a|baisse a|rise[sn]? to|raised to|increase[sd]? to|goes to|prevu)"
)
_WILL = re.compile(r"\b(?:sera|seront|passera|passeront|augmenter(?:a|ont)|baisser(?:a|ont)|will|shall)\b")
_BEFORE = re.compile(
    r"\b(?:etai\w{1,3}|avant|auparavant|ancien\w{0,3}|precedent\w{0,5}|jusqu['’](?:ici|a present|alors)|was|were|"
    r"previous\w{0,2}|former\w{0,2}|coutait|initial\w{0,6})\b"
)


@dataclass(frozen=True)
class Change:
    """A value that becomes another."""

    old: str
    new: str


def changes_in(text: str) -> Iterator[Change]:
    """Give the changes that a text tells, as written."""
    plain = fold_in_place(text)
    for pattern in (_FROM_TO, _NOW_THEN, _AGAINST_NOW):
        for match in pattern.finditer(plain):
            yield Change(match["old"], match["new"])


def is_told_of_now(text: str) -> bool:
    """Return whether a sentence says that something is so now."""
    return _NOW.search(fold_in_place(text)) is not None


def is_told_of_later(text: str) -> bool:
    """Return whether a sentence says what will be, or what something becomes."""
    return _THEN.search(fold_in_place(text)) is not None


def is_yet_to_come(text: str) -> bool:
    """Return whether a passage's sentence tells a change as one to come."""
    return _WILL.search(fold_in_place(text)) is not None


def is_told_of_before(text: str) -> bool:
    """Return whether a sentence says what was, or names the value that something starts from."""
    return _BEFORE.search(fold_in_place(text)) is not None


def step_before(text: str) -> str:
    """Return `by` or `to` for the words before a value: « augmentent de », « passent à »; empty for neither."""
    plain = fold_in_place(text)[-80:]
    if plain.endswith(("£", "$", "€")):
        plain = plain[:-1]
    if _BY.search(plain):
        return "by"
    return "to" if _TO.search(plain) else ""
