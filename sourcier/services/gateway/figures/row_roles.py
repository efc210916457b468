"""What a row of a table is to the others, by its name: one of them, their sum, their mean, or none that is sure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from functools import lru_cache

from sourcier.services.index.language.stop_words import fold_in_place


class Role(Enum):
    """What a row is."""

    DATA = "data"
    TOTAL = "total"
    AVERAGE = "average"
    PART = "part"
    """« dont … »: counted in the row above."""
    DOUBTFUL = "doubtful"
    """It sums some rows up, or has no name."""


_WORD = re.compile(r"[^\W_]+")
_OF_WHICH = re.compile(r"(?:dont|of which|including|y compris)\b")
_PARTIAL = re.compile(
    r"(?:(?:sous|sub) ?tot(?:al|aux|als|\b)|s total|st$|reste|solde|balance|report|a reporter|tva|vat|tax|taxes|remise|"
    r"maximum|max$|minimum|min$|ecart|variation|evolution|difference|change)\b"
)
_AVERAGE = re.compile(r"(?:\w{1,24} )?(?:moyennes?|moyens?|moy|averages?|avg|mean|medianes?|median|mediane)\b")
_TOTAL = re.compile(
    r"(?:\w{1,24} ){0,2}(?:totale?s?|totaux|tot|cumul|cumule|cumulee|global|globale|globaux|generale?)\b|"
    r"(?:somme|ensemble|sum|overall|all|tous|toutes|tout|net)\b|a payer|(?:amount|balance) due|due$|recapitulatif|"
    r"(?:\w{1,24} )?(?:ttc|ht)$|[σ∑]"
)


def role_of(cells: Sequence[str]) -> Role:
    """Return the role of a row with these names; a sum of a section, named beside it, is doubtful."""
    roles = [_role(cell) for cell in cells if _WORD.search(cell) or cell.strip() in ("Σ", "∑")]
    if not roles:
        return Role.DOUBTFUL
    first, rest = roles[0], roles[1:]
    if first is Role.DATA and any(each in (Role.TOTAL, Role.DOUBTFUL) for each in rest):
        return Role.DOUBTFUL
    return first


@lru_cache(maxsize=4_000)
def _role(name: str) -> Role:
    plain = fold_in_place(name)
    words = _WORD.findall(plain)
    if len(words) > 2 and all(len(word) == 1 for word in words):
        # « T O T A L »
        words = ["".join(words)]
    bare = " ".join(words) or plain.strip()
    for pattern, role in ((_OF_WHICH, Role.PART), (_PARTIAL, Role.DOUBTFUL), (_AVERAGE, Role.AVERAGE),
                          (_TOTAL, Role.TOTAL)):
        if pattern.match(bare) is not None:
            return role
    return Role.DATA


def sums_up(values: Sequence[Decimal]) -> bool:
    """Return whether one figure is the sum of all others, or of two or more that stand next to it."""
    if len(values) < 3:
        return False
    whole = sum(values, Decimal(0))
    for place, value in enumerate(values):
        above, below = values[:place][::-1], values[place + 1 :]
        if value and (value * 2 == whole or _adds_up(value, above) or _adds_up(value, below)):
            return True
    return False


def _adds_up(value: Decimal, neighbours: Sequence[Decimal]) -> bool:
    total = Decimal(0)
    for number, each in enumerate(neighbours, start=1):
        total += each
        if number > 1 and total == value and each:
            return True
    return False
