"""On which side of each other two framed texts stand: the same, or opposite ones."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.frame import Frame, Status
from sourcier.services.gateway.clauses.lexicon import Scale
from sourcier.services.gateway.clauses.tokens import Token, forms_in, told_by

APART = frozenset({",", ";", "et", "ou", "ni", "and", "or", "nor", "(", ")", "puis"})


def side(wanted: Frame, frame: Frame) -> int:
    """Return 1 where a clause says what is asked, -1 where it says the opposite, 0 where that cannot be told."""
    sign = wanted.sign * frame.sign
    if frame.status is Status.REJECTED:
        # The rejection is told by the status; what was rejected is not denied in itself.
        named = dict(frame.poles)
        if any(token.text in lexicon.REJECTED for token in frame.main if token.text in lexicon.POLES):
            named.pop(Scale.PERMITTED, None)
        return wanted.sign if wanted.sign > 0 and named == dict(wanted.poles) else 0
    for scale in wanted.poles.keys() | frame.poles.keys():
        asked_end, end = wanted.poles.get(scale), frame.poles.get(scale)
        if end is None and asked_end is not None:
            sign *= asked_end
        elif asked_end is None and end is not None:
            if scale is Scale.KEPT and end < 0 and any(token.text in APART for token in frame.main):
                # « ni annulée ni reportée »: what is cancelled may be another item.
                return 0
            if scale in lexicon.TRANSPARENT:
                sign *= end
            elif end < 0 or scale is Scale.REQUIRED:
                # « Le portail doit être fermé » does not say that it is.
                return 0
        elif asked_end is not None and end is not None:
            if scale in lexicon.CONTRARY and asked_end != end and frame.denied:
                return 0
            sign *= asked_end * end
    return sign


def excepted(said: Sequence[Token], frame: Frame) -> str:
    """Return `asked` where a question asks about a clause's exception, `other` where it asks about the rest, `unclear`
    where about part of both; empty without an exception."""
    if not frame.exceptions:
        return ""
    main = forms_in((*frame.main, *(token for each in frame.conditions for token in each.tokens)))
    forms = forms_in(said)
    for exception in frame.exceptions:
        told = [token for token in exception if token.tells]
        touched = [token for token in told if told_by(token, forms)]
        if told and all(any(told_by(token, other.forms) for other in frame.main) for token in told):
            # « contrairement aux autres agents »: its words are not its own.
            return "unclear"
        if touched and (len(touched) == len(told) or _one_of_several(exception, forms)):
            return "asked"
        if touched and not all(told_by(token, main) for token in touched):
            return "unclear"
    return "other"


def _one_of_several(exception: Sequence[Token], forms: frozenset[str]) -> bool:
    """Return whether a question asks about one whole item of an exception: « sauf le lundi et le mardi »."""
    return any(
        told and all(told_by(token, forms) for token in told)
        for chunk in chunks_of(exception) for told in ([token for token in chunk if token.tells],)
    )


def all_told(tokens: Sequence[Token], forms: frozenset[str]) -> bool:
    told = [token for token in tokens if token.tells]
    return bool(told) and all(told_by(token, forms) for token in told)


def chunks_of(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return a clause's items: what stands between commas and « et »."""
    chunks: list[list[Token]] = [[]]
    for token in tokens:
        if token.text in APART:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [chunk for chunk in chunks if chunk]
