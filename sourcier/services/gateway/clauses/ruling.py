"""What the passages' clauses say to a yes/no question: yes, no, on a condition, planned; or the clause alone.

A word is given only where one clause holds all that is asked, nothing in it narrows that down, and no other clause says
otherwise. In every other case the clause is quoted, and who reads it can judge.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import Clause, clauses_of, predicate_place, subject_of
from sourcier.services.gateway.clauses.frame import Frame, Status, frame_of
from sourcier.services.gateway.clauses.lexicon import Scale
from sourcier.services.gateway.clauses.questions import Asked, asked
from sourcier.services.gateway.clauses.sides import all_told, chunks_of, excepted, side
from sourcier.services.gateway.clauses.tokens import Token, forms_in, has, tokens_of, told_by

QUOTED_FROM = 0.5
"""Share of a question's words, weighted by rarity, from which on a clause is close enough to be quoted."""


class Decision(Enum):
    """What a clause answers."""

    YES = "yes"
    NO = "no"
    YES_WITH_EXCEPTION = "yes_with_exception"
    NO_WITH_EXCEPTION = "no_with_exception"
    CONDITIONAL = "conditional"
    RESTRICTED = "restricted"
    PLANNED = "planned"
    UNDECIDED = "undecided"
    """Somebody considers it, or claims it; nothing is decided."""
    REJECTED = "rejected"
    PAST = "past"
    QUOTED = "quoted"
    """The clause is about it, and whether it says yes or no is left to who reads it."""
    UNTOLD = "untold"
    """Some of what is asked for stands in no passage."""

    @property
    def affirms(self) -> bool | None:
        """Whether it is a yes or a no; None for neither."""
        if self in (Decision.YES, Decision.YES_WITH_EXCEPTION):
            return True
        return False if self in (Decision.NO, Decision.NO_WITH_EXCEPTION, Decision.REJECTED) else None

    @property
    def says(self) -> bool:
        """Whether it answers by more than a quotation."""
        return self not in (Decision.QUOTED, Decision.UNTOLD)


@dataclass(frozen=True)
class Source:
    """One passage as it is looked at."""

    number: int
    text: str
    context: str = ""
    """Title and headings."""


@dataclass(frozen=True)
class Place:
    """Where a clause stands: its passage, and its sentence there."""

    number: int
    start: int
    end: int
    lead: tuple[int, int] | None = None
    """The line that leads in to it, as « Il est interdit de : » to an item of a list."""


@dataclass(frozen=True)
class Ruling:
    """What is said to a yes/no question, and the clauses that it rests on, best first."""

    decision: Decision
    places: tuple[Place, ...]


@dataclass(frozen=True)
class _Match:
    decision: Decision
    sign: int
    """1 for the question's own side, -1 for the other, 0 where that cannot be told."""
    whole: bool
    """Whether the clause holds all that is asked."""
    share: float
    place: Place


def ruling(
    question: str, sources: Iterable[Source], *, today: date, disputed: frozenset[int] = frozenset()
) -> Ruling | None:
    """Return what the passages say to a yes/no question; None for another question, and where none comes close.

    Of `disputed` passages each is known to say otherwise than another one: their clauses decide nothing.
    """
    wanted = asked(question, today=today)
    if wanted is None or not wanted.content:
        return None
    found = [(source, clause) for source in sources for clause in clauses_of(source.text, source.context)]
    weights = _weights(wanted, [clause for _, clause in found])
    matches = [_match(wanted, clause, source.number, weights, today=today) for source, clause in found]
    told = frozenset().union(*(forms_in((*clause.tokens, *clause.context)) for _, clause in found)) if found else (
        frozenset[str]()
    )
    return _ruled(matches, untold=not all(told_by(token, told) for token in wanted.content), disputed=disputed)


def _ruled(matches: Sequence[_Match], *, untold: bool, disputed: frozenset[int]) -> Ruling | None:
    whole = [match for match in matches if match.whole]
    decided = [match for match in whole if match.decision.says]
    if decided:
        best = max(decided, key=lambda match: match.share)
        others = [match for match in whole if _speaks_against(match, best)]
        if not others and best.place.number in disputed:
            others = sorted((
                match for match in matches if match.place.number in disputed - {best.place.number}
            ), key=lambda match: -match.share)
        if not others:
            return Ruling(best.decision, (best.place,))
        return Ruling(Decision.QUOTED, _places((best, *others)))
    best_of_all = max(matches, key=lambda match: (match.whole, match.share), default=None)
    if best_of_all is None or best_of_all.share < QUOTED_FROM:
        return None
    against = [match for match in whole if match.sign and match.sign == -best_of_all.sign]
    return Ruling(Decision.UNTOLD if untold else Decision.QUOTED, _places((best_of_all, *against)))


def _speaks_against(match: _Match, best: _Match) -> bool:
    if match.decision.says:
        return match.decision is not best.decision
    return match.sign == 0 or match.sign == -best.sign


def _places(matches: Iterable[_Match]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(match.place for match in matches))[:2]


def _weights(wanted: Asked, clauses: Sequence[Clause]) -> dict[str, float]:
    """Return the weight of each of a question's words: the fewer clauses hold it, the more it tells."""
    held = Counter(
        token.text for clause in clauses for forms in (forms_in(clause.tokens),)
        for token in wanted.content if told_by(token, forms)
    )
    return {token.text: math.log(1 + (1 + len(clauses)) / (1 + held[token.text])) for token in wanted.content}


def _match(
    wanted: Asked, clause: Clause, number: int, weights: dict[str, float], *, today: date
) -> _Match:
    frame = frame_of(clause.tokens, today=today)
    here, around = forms_in(clause.tokens), forms_in((*clause.subject, *clause.context))
    total = sum(weights[token.text] for token in wanted.content)
    share = sum(
        weights[token.text] * (1.0 if told_by(token, here) else 0.7)
        for token in wanted.content if told_by(token, here) or told_by(token, around)
    ) / total
    scales = [scale for scale in wanted.frame.poles if not _may_lack(scale, wanted)]
    missed = sum(scale not in frame.poles for scale in scales)
    place = Place(number, clause.start, clause.end, clause.lead)
    if missed:
        share *= 0.8
    if missed or not _holds_all(wanted, clause, here):
        return _Match(Decision.QUOTED, 0, False, share, place)
    decision, sign = _decided(wanted, clause, frame)
    return _Match(decision, sign, True, share, place)


_MAY_ONLY = lexicon.words(
    "peut peuvent peux pourra pourront can may possible possibles autorise autorisee autorises autorisees permis "
    "permise permises interdit interdite interdits interdites defendu defendue allowed permitted forbidden prohibited "
    "banned"
)


def _may_lack(scale: Scale, wanted: Asked) -> bool:
    """Return whether a clause may answer without naming a scale: « on ne fume pas » to « peut-on fumer ? »."""
    return scale is Scale.PERMITTED and len(wanted.content) >= 2 and all(
        token.text in _MAY_ONLY for token in wanted.tokens
        if token.text in lexicon.POLES and lexicon.POLES[token.text].scale is scale
    )


def _holds_all(wanted: Asked, clause: Clause, here: frozenset[str]) -> bool:
    """Return whether a clause holds all words of a question; title and headings may help one that has no subject of
    its own beside the question's."""
    lacking = [token for token in wanted.content if not told_by(token, here)]
    if not lacking:
        return True
    taken_over = forms_in(clause.subject)
    lacking = [token for token in lacking if not told_by(token, taken_over)]
    if not lacking:
        return True
    above = forms_in(clause.context)
    asked_for = forms_in(wanted.tokens)
    own = [token for token in subject_of(clause.tokens) if token.tells and not told_by(token, asked_for | above)]
    return not own and all(told_by(token, above) for token in lacking)


def _decided(wanted: Asked, clause: Clause, frame: Frame) -> tuple[Decision, int]:
    """Return what a clause that holds all that is asked says to it, and on which side it stands."""
    sign = side(wanted.frame, frame)
    asked_forms = forms_in(wanted.tokens)
    exception = excepted(wanted.tokens, frame)
    if exception == "asked":
        sign = -sign
    if not sign or not wanted.can_be_decided or exception == "unclear":
        return Decision.QUOTED, 0 if exception == "unclear" else sign
    unmet = [each for each in frame.conditions if not all_told(each.tokens, asked_forms)]
    if any(_only_in(wanted.content, each.tokens, frame) for each in unmet) or not _same_roles(wanted, clause):
        return Decision.QUOTED, 0
    if frame.status is Status.FACT and has(clause.context, lexicon.DRAFTS):
        return Decision.QUOTED, sign
    special = _by_status(wanted, frame, sign)
    if special is not None:
        return special if special is not Decision.REJECTED or not _narrowed(wanted, clause, frame, lead=True) else (
            Decision.QUOTED
        ), -sign if special is Decision.REJECTED else 0
    if not _same_quantities(wanted.frame, frame, excepted=exception == "asked"):
        return Decision.QUOTED, sign
    if exception == "asked" and sign < 0 and not unmet:
        # « La garantie couvre le moteur, sauf les joints »: what is excepted is part of what stands before.
        return Decision.NO, sign
    narrowed = _narrowed(wanted, clause, frame)
    if narrowed or unmet or frame.restricted != wanted.frame.restricted:
        return _with_limits(sign, frame, narrowed=narrowed, unmet=bool(unmet)), sign
    if exception == "other" and not frame.contrasted:
        return (Decision.YES_WITH_EXCEPTION if sign > 0 else Decision.NO_WITH_EXCEPTION), sign
    return (Decision.YES if sign > 0 else Decision.NO), sign


def _with_limits(sign: int, frame: Frame, *, narrowed: bool, unmet: bool) -> Decision:
    if sign < 0 or frame.exceptions:
        return Decision.QUOTED
    if unmet and not narrowed and not frame.restricted:
        return Decision.CONDITIONAL
    if frame.restricted and not unmet:
        return Decision.RESTRICTED if narrowed else Decision.YES
    return Decision.QUOTED


def _by_status(wanted: Asked, frame: Frame, sign: int) -> Decision | None:
    """Return what follows from a clause that gives out no present fact; None for a fact, or what the question asks for.
    """
    if frame.status is wanted.frame.status:
        return None
    if frame.status is Status.FACT or wanted.frame.status is not Status.FACT or sign < 0:
        # Asked for a plan, a fact answers less than it seems to; and a denied plan says nothing of now.
        return Decision.QUOTED
    return {
        Status.PLANNED: Decision.PLANNED, Status.HYPOTHESIS: Decision.UNDECIDED, Status.REJECTED: Decision.REJECTED,
        Status.CLAIMED: Decision.UNDECIDED, Status.PAST: Decision.PAST,
    }.get(frame.status, Decision.QUOTED)


def _only_in(content: Sequence[Token], tokens: Sequence[Token], frame: Frame) -> bool:
    """Return whether some of what is asked stands in a condition and nowhere else."""
    condition, main = forms_in(tokens), forms_in(frame.main)
    return any(told_by(token, condition) and not told_by(token, main) for token in content)


def _same_roles(wanted: Asked, clause: Clause) -> bool:
    """Return whether the subject of the question's verb stands before that verb in the clause too."""
    if not wanted.verb or not wanted.subject:
        return True
    verb = forms_in(tokens_of(wanted.verb))
    if not verb:
        return True
    at = next((place for place, token in enumerate(clause.tokens) if told_by(token, verb)), None)
    subject = next((place for place, token in enumerate(clause.tokens) if told_by(token, wanted.subject)), None)
    if at is None or subject is None or subject < at or (at and clause.tokens[at - 1].text in ("de", "d'", "to")):
        return True
    # « Les chèques sont acceptés à la cantine »: a passive turns them round.
    return any(token.text in lexicon.FORMS_OF_BE for token in clause.tokens[:at])


def _same_quantities(wanted: Frame, frame: Frame, *, excepted: bool) -> bool:
    asked_for = wanted.quantities - lexicon.RESTRICTING
    held = frame.quantities - lexicon.RESTRICTING
    bounds = (held & lexicon.BOUNDS) | (held & {"plus"})
    return asked_for <= held | {"tout", "toute"} and (excepted or bounds <= asked_for)


_NARROWING = lexicon.words(
    "dans en pour à a au aux avec sur sous par chez pendant durant avant apres jusqu' depuis des in at on for with "
    "under by during before after until to lors contre entre qui dont"
)
_NEUTRAL = lexicon.words("port acces utilisation usage possibilite fait presence")
"""« Le port du casque », « l'accès au parking » for casque and parking."""
_NEUTRAL_IN_SUBJECT = lexicon.PROPOSALS | lexicon.words("porter passer fixer possibilite fait acces")


def _narrowed(wanted: Asked, clause: Clause, frame: Frame, *, lead: bool = False) -> bool:
    """Return whether a clause speaks of less than is asked: « les visiteurs extérieurs », « dans la cour ».

    Items of a list beside the one that is asked for narrow nothing down. With `lead`, what stands behind the predicate
    does not either: « est rejetée par 9 voix contre 4 ».
    """
    known = forms_in((*wanted.tokens, *clause.context, *clause.subject))
    if any(token.text in lexicon.WEEKDAYS + lexicon.WEEKDAYS_ENGLISH for token in wanted.content):
        # « du lundi au vendredi » holds the day that is asked for, and tells it by others.
        known |= forms_in(tokens_of(" ".join((*lexicon.WEEKDAYS, *lexicon.WEEKDAYS_ENGLISH, "jours"))))
    content = forms_in(wanted.content)
    main = frame.main[: _last_predicate(frame.main)] if lead else frame.main
    for chunk in chunks_of(main):
        extras = [
            token for token in chunk
            if token.tells and token.text not in lexicon.POLES and not told_by(token, known)
            and token.text not in lexicon.SECOND_PARTS | _NEUTRAL and not (lead and token.text in _NEUTRAL_IN_SUBJECT)
            and not (wanted.frame.status is frame.status and token.text in lexicon.PLANNED)
        ]
        if not extras:
            continue
        if any(told_by(token, content) for token in chunk) or chunk[0].text in _NARROWING:
            return True
        if predicate_place(chunk) < len(chunk) and not any(told_by(token, content) for token in chunk):
            return True
    return False


def _last_predicate(main: Sequence[Token]) -> int:
    return max((place for place, token in enumerate(main) if token.text in lexicon.REJECTED), default=len(main))
