"""What keeps a sentence's value from being the answer: a denial, a condition, an exception, a bound, a word of change.

The sentence may still be shown, whole; its value is not marked then, for by itself it would say something else. What
the question itself denies, sets as a condition, bounds or asks for (« quand est-elle annulée ? ») casts no doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.frame import frame_of
from sourcier.services.gateway.clauses.tokens import Token, forms_in, has, phrase_at, tokens_of, told_by
from sourcier.services.gateway.extracts.asking import NAMING_WORDS, Kind, Wanted

BOUND_BEFORE, BOUND_BEHIND = 5, 4
"""Tokens before and behind a value within which a word bounds it: « 5 € au plus »."""
DELAYED = frozenset({Kind.DATE, Kind.HOUR})
"""What is mostly told by a bound: « avant le 3 mai »."""

_DENYING = lexicon.NE | lexicon.DENIALS | lexicon.words("sans without rien personne nul nulle ni guere aucunement")
_FALSE = lexicon.words(
    "faux fausse fausses inexact inexacte inexactes errone erronee errones erronees erreur tort mensonge rumeur "
    "dementi dement dementie pretendu pretendue pretendument contraire loin false wrong untrue incorrect mistaken "
    "rumour rumor contrary"
)
_CANCELLED = lexicon.words(
    "annule annulee annules annulees annulation reporte reportee reportes reportees report supprime supprimee "
    "supprimes supprimees suppression suspendu suspendue suspendus suspendues suspension abroge abrogee abroges "
    "abrogees remplace remplacee remplaces remplacees ajourne ajournee ajournes ajournees differe differee differes "
    "differees deplace deplacee deplaces deplacees decale decalee decales decalees avance avancee refuse refusee "
    "refuses refusees rejete rejetee rejetes rejetees retire retiree retires retirees revoque revoquee revoques "
    "revoquees resilie resiliee abandonne abandonnee abandonnes abandonnees interrompu interrompue caduc caduque "
    "caducs caduques perime perimee perimes perimees obsolete expire expiree conteste contestee invalide annuler "
    "reporter supprimer cancelled canceled postponed delayed suspended abolished discontinued removed replaced "
    "revoked withdrawn rejected refused rescheduled moved void invalid expired obsolete superseded repealed"
)
_CHANGED = lexicon.words(
    "augmente augmentee augmentes augmentees augmentation augmentent augmenter hausse hausses majore majoree majores "
    "majorees majoration diminue diminuee diminues diminuees diminution diminuer baisse baissee baisses baissent "
    "baisser reduit reduite reduits reduites reduction reductions releve relevee abaisse abaissee ecart difference "
    "progresse progression recule recul supplement supplements surcout increased increase increases decreased "
    "decrease decreases raised lowered reduced rises rose falls fell surcharge supplement"
)
_APART = lexicon.words(
    "subvention subventions subventionne subventionnee remise remises rabais ristourne ristournes abattement "
    "abattements deduction deductions deduit deduite acompte acomptes caution avance arrhes taxe taxes penalite "
    "penalites amende amendes participation aide aides exoneration remboursement remboursements subsidy subsidies "
    "discount discounts rebate deposit deduction penalty fine grant tax refund"
)
"""What comes off a price or on top of it, and is not it."""
_BOUNDING = lexicon.words(
    "inferieur inferieure inferieurs inferieures superieur superieure superieurs superieures maximum maximal maximale "
    "minimum minimal minimale plafonne plafonnee depasse depassent depasser excede excedent exceder moindre below "
    "above under over exceed exceeds exceeding maximal minimal"
)
_BOUNDS = lexicon.phrases(
    "moins de|moins d'|plus de|plus d'|au moins|au plus|au maximum|au minimum|au dessus|au dessous|en dessous|au dela|"
    "jusqu' a|jusqu' au|jusqu' aux|a partir de|a partir d'|dans la limite|tout au plus|entre|less than|more than|"
    "fewer than|at least|at most|up to|no more than|not more than|starting from|starting at|between"
)
_BOUNDING_SIGNS = frozenset("<>≤≥")
_OF = lexicon.words("de du des d' sur pour a à au aux of on for")
_TOLD = lexicon.words(
    "est sont etait etaient sera s' eleve elevent atteint atteignent represente vaut valent coute coutent fait is are "
    "was were costs amounts"
)


def is_doubted(
    asked: Wanted, spans: Iterable[str], said: str, value: tuple[int, int], *, today: date, is_row: bool = False,
    clauses: Sequence[Sequence[Token]] = (),
) -> bool:
    """Return whether a value may not be taken out of its sentence.

    `spans` are all that is quoted, `said` is the sentence or, of a row, the cell, and `value` stands in it.
    """
    question = tokens_of(asked.text)
    known = forms_in(question)
    texts = {token.text for token in question}
    tokens = [token for span in spans for token in tokens_of(span)]
    return (
        _denies(tokens) != _denies(question) or _is_conditioned(clauses or [tokens], question, known, today=today)
        or any(token.text in _FALSE and token.text not in texts for token in tokens)
        or any(token.text in each and not told_by(token, known) and token.text not in texts
               for token in tokens for each in (_CANCELLED, _CHANGED, *(() if is_row else (_APART,))))
        or (asked.kind not in DELAYED and _is_bounded(said, value, question))
        or (asked.kind is Kind.AMOUNT and not is_row and _is_of_something_else(tokens_of(said[: value[0]]), known))
    )


def _denies(tokens: Sequence[Token]) -> bool:
    """Return whether a word denies; « ne … que » restricts."""
    for place, token in enumerate(tokens):
        if token.text not in _DENYING:
            continue
        behind = [each.text for each in tokens[place + 1 : place + 8]]
        second = next((text for text in behind if text in ("que", "qu'") or text in lexicon.SECOND_PARTS), "")
        if token.text not in lexicon.NE or second not in ("que", "qu'"):
            return True
    return False


def _is_conditioned(
    clauses: Sequence[Sequence[Token]], question: Sequence[Token], known: frozenset[str], *, today: date
) -> bool:
    """Return whether something is excepted, or a condition is set that the question does not name."""
    excepts = any(
        phrase_at(question, table, place) for place in range(len(question))
        for table in (lexicon.EXCEPTIONS, lexicon.CONTRASTS)
    )
    for clause in clauses:
        frame = frame_of(clause, today=today)
        if frame.exceptions and not excepts:
            return True
        for condition in frame.conditions:
            telling = [token for token in condition.tokens if token.tells]
            if not telling or not all(told_by(token, known) for token in telling):
                return True
    return False


def _is_bounded(said: str, value: tuple[int, int], question: Sequence[Token]) -> bool:
    """Return whether a word close to a value says that it is a limit, in a way in which the question asks for none."""
    if _BOUNDING_SIGNS & set(said[max(0, value[0] - 3) : value[0]]):
        return True
    before, behind = tokens_of(said[: value[0]])[-BOUND_BEFORE:], tokens_of(said[value[1] :])[:BOUND_BEHIND]
    if _bounds(question):
        return False
    return _bounds(before) or _bounds(behind)


def _bounds(tokens: Sequence[Token]) -> bool:
    return any(token.text in _BOUNDING for token in tokens) or has(tokens, _BOUNDS)


def _is_of_something_else(before: Sequence[Token], known: frozenset[str]) -> bool:
    """Return whether an amount is that of another thing than the one asked for: « la part du prix est de 2 € »."""
    verb = next((place for place, token in enumerate(before) if token.text in _TOLD), None)
    first = next((place for place, token in enumerate(before) if token.tells), None)
    if verb is None or first is None or first >= verb:
        return False
    head = before[first]
    if told_by(head, known) or head.text in NAMING_WORDS or before[first + 1].text not in _OF:
        return False
    return any(token.tells and told_by(token, known) for token in before[first + 1 : verb])
