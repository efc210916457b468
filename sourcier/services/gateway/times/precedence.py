"""Which of two clauses that speak of the same holds at a time, and why: the one rule of answers and of lists."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from sourcier.services.gateway.times.statements import OF_PAPERS, Stated, is_later
from sourcier.services.index.times.document import DocumentTimes, RelationKind, numbers_of
from sourcier.services.index.times.periods import Period
from sourcier.services.index.times.relations import Said


class Why(Enum):
    """Why one passage holds and the other does not."""

    REPLACED = "replaced"
    """Its document says that it replaces the other's."""
    LATER = "later"
    ENDED = "ended"
    """The other one says until when it held."""
    NOT_DECIDED = "not_decided"
    """The other one tells what somebody proposes, or what was rejected."""
    NOT_YET = "not_yet"
    """The other one begins later than the time that is asked of."""


def why_it_holds(holds: Stated, other: Stated, then: Period, said: Said) -> Why | None:
    """Return why of two that speak of the same the first holds at a time; None where nothing tells that it does."""
    if not in_force(holds, then):
        return None
    if replaces(holds, other, said):
        return Why.REPLACED
    if is_to_come(other, then):
        return Why.NOT_YET
    if is_over(other, then):
        return Why.ENDED
    return Why.LATER if is_later(holds, other) else None


def in_force(each: Stated, then: Period) -> bool:
    """Return whether what is known of a clause lets it hold at a time."""
    return not is_to_come(each, then) and not is_over(each, then)


def is_to_come(each: Stated, then: Period) -> bool:
    """Return whether a clause holds from a later day on."""
    return each.start is not None and each.start > then.end


def is_over(each: Stated, then: Period) -> bool:
    """Return whether a clause has held until an earlier day."""
    return each.end is not None and each.end < then.start


def replaces(new: Stated, old: Stated, said: Said) -> bool:
    """Return whether the document of one clause replaces the other's; what people say goes before what is read."""
    pair = (new.candidate.document, old.candidate.document)
    return pair in said.replaces or (
        pair not in said.denied and new.candidate.times.replaces_document(old.candidate.times)
    )


def names_its_subject(new: Stated, old: Stated) -> bool:
    """Return whether one document replaces the other by its date or version and a word of its subject.

    « Remplace la notice de la bourse d'étude du 1er février » means that notice and no other of that day.
    """
    times, other = new.candidate.times, old.candidate.times
    return any(
        each.kind is RelationKind.REPLACES and (each.dates or each.version or each.everything or numbers_of(each.words))
        and each.words & other.family - OF_PAPERS and times.names(each, other) for each in times.relations
    )


def names_no_other(new: Stated, old: Stated, others: Iterable[DocumentTimes]) -> bool:
    """Return whether one document replaces the other by a date that no other of its kind has: « remplace la circulaire
    du 3 mars »."""
    times, other = new.candidate.times, old.candidate.times
    return any(
        each.kind is RelationKind.REPLACES and each.dates and not each.words - OF_PAPERS and times.names(each, other)
        and sum(times.names(each, one) for one in others) == 1 for each in times.relations
    )


def said_to_replace(new: Stated, old: Stated, said: Said) -> bool:
    """Return whether people say so."""
    return (new.candidate.document, old.candidate.document) in said.replaces
