"""What a rider or an amending document gives anew: « La redevance est ramenée à 380 € » over « est de 410 € ».

Such a document says in words of its own what changes, so that clauses are not compared word for word: the new clause
has a value of the same unit, and what it says before that is told by the old clause or the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import clauses_of
from sourcier.services.gateway.clauses.tokens import Token, forms_in, has, tokens_of, told_by
from sourcier.services.gateway.times.statements import Stated, is_figure
from sourcier.services.index.times.dates import MONTHS
from sourcier.services.index.times.document import RelationKind

_CHANGING = lexicon.words(
    "porte portee portes portees porter ramene ramenee ramenes ramenees ramener fixe fixee fixes fixees fixer reduit "
    "reduite reduits reduites reduire releve relevee releves relevees augmente augmentee augmentes baisse baissee "
    "passe passent passera modifie modifiee remplace remplacee maintenu maintenue desormais nouveau nouvelle est sont "
    "sera etant redige redigee parties conviennent convenu article raised increased reduced lowered set amended "
    "becomes changed new now agreement deed under hereby"
)
_EXTENDED = lexicon.words(
    "proroge prorogee proroges prorogation prolonge prolongee prolonges prolongation reconduit reconduite reporte "
    "reportee extended prolonged"
)
_UNTIL = lexicon.phrases("jusqu' au|jusqu' en|jusqu' a|expire le|prend fin le|until|up to|expires on|ends on")


def amends(new: Stated, old: Stated) -> bool:
    """Return whether the document of one clause amends the other's, or is a rider to it."""
    times, other = new.candidate.times, old.candidate.times
    return any(
        (each.kind is not RelationKind.REPLACES or each.part) and times.names(each, other) for each in times.relations
    )


def given_anew(
    new: Stated, old: Stated, wanted: Sequence[Token]
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return which clause of a passage an amending document's gives with another value, and where; None for none.

    Only clauses are looked at that hold as much of the question as the one that answers it best.
    """
    most = _told(old.clause.tokens, wanted)
    before = [each for each in clauses_of(old.candidate.text) if _told(each.tokens, wanted) >= most]
    for clause in clauses_of(new.candidate.text):
        at = clause.text.rfind(new.candidate.text[clause.start : clause.end].strip(" «»\n")[:20])
        body = tokens_of(clause.text[max(at, 0) :])
        for other in before:
            if (_extends(body) and other.start == old.clause.start and _ends_on_a_day(other.tokens)) or (
                _gives_another(body, other.tokens, wanted)
            ):
                return (other.start, other.end), (clause.start, clause.end)
    return None


def _told(tokens: Sequence[Token], wanted: Sequence[Token]) -> int:
    """Return how many of a question's words a clause tells."""
    forms = forms_in(tokens)
    return sum(told_by(token, forms) for token in wanted)


def _gives_another(body: Sequence[Token], old: Sequence[Token], wanted: Sequence[Token]) -> bool:
    """Return whether a clause gives another value of what an older one does, and of what is asked."""
    known, asked = forms_in(old), forms_in(wanted)
    values = list(_values(old))
    for segment in _segments(body):
        for number, behind, subject in _in_segment(segment):
            told = [token for token in subject if token.text not in _CHANGING]
            if not any(told_by(token, asked) for token in told) or not all(told_by(token, known) for token in told):
                continue
            if any(_is_same_unit(behind, unit) and number.forms.isdisjoint(other.forms) for other, unit in values):
                return True
    return False


def _values(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    """Give the numbers of a clause and what stands behind each."""
    for one, behind in pairwise(tokens):
        if is_figure(one) and behind.text not in MONTHS and one.text not in ("un", "une", "one"):
            yield one, behind


def _is_same_unit(one: Token, other: Token) -> bool:
    return one.text == other.text or told_by(one, other.forms)


def _segments(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    start = 0
    for place, token in enumerate(tokens):
        if token.text in (",", ";", ":"):
            yield tokens[start:place]
            start = place + 1
    yield tokens[start:]


def _in_segment(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token, list[Token]]]:
    """Give each number of a segment with what stands behind it, and the words before the first one."""
    first = next((place for place, token in enumerate(tokens) if is_figure(token)), len(tokens))
    subject = [token for token in tokens[:first] if token.tells]
    for number, behind in _values(tokens):
        yield number, behind, subject


def _extends(tokens: Sequence[Token]) -> bool:
    return any(token.text in _EXTENDED for token in tokens) and any(token.text in MONTHS for token in tokens)


def _ends_on_a_day(tokens: Sequence[Token]) -> bool:
    return has(tokens, _UNTIL) and any(
        token.text in MONTHS for token in tokens
    )
