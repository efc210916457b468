"""Whether a sentence's figures are those of its subject: the row and column of a table, the unit, the sign.

Only what speaks against a figure is told. A passage that gives the same figure for what the sentence names, or that
cannot be compared, agrees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from functools import cached_property

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.figures.bounds import sides_named
from sourcier.services.gateway.figures.prose import Statement, statements_in
from sourcier.services.gateway.figures.quantities import Quantity, quantities_in
from sourcier.services.gateway.figures.readings import Grid, Reading, Source, covers, read
from sourcier.services.gateway.figures.units import NONE, Kind, Unit
from sourcier.services.gateway.figures.words import forms_of, told


class Mismatch(Enum):
    """What of a figure is not its passage's."""

    SUBJECT = "other subject"
    UNIT = "other unit"
    SIGN = "other sign"
    GIVEN = "given otherwise"
    """As a proposal, as what was before, or per another time."""
    REPLACED = "no longer so"
    """Only a document that no longer holds says it."""


@dataclass(frozen=True)
class Contradiction:
    """A figure that a passage gives otherwise."""

    mismatch: Mismatch
    start: int
    end: int
    """The row or sentence of what the sentence names; of another unit or sign, where the figure stands."""
    lead: tuple[int, int] | None = None
    """The names of the columns, for a row of a table."""


_LESS = lexicon.words(
    "baisse baisses baisser recul recule perte pertes deficit deficitaire negatif negative negatifs diminution "
    "diminue diminuer moins reduction reduit chute dette debit minus loss losses decrease decreased fell fall drop "
    "below decline declined sous remise remises abattement abattements avoir avoirs ristourne ristournes rabais "
    "escompte escomptes deduction deductions deduit deduite deduits deduites retenue retenues prelevement prelevements "
    "perdu perdue perdus perdues perd perdent perdait perdaient perdre retranche retranchee ote otee rembourse "
    "remboursement remboursements remboursee discount discounts rebate rebates deduction deducted credit lost lose "
    "loses shrank shrunk shrink shrinks dropped drops dropping falls fallen falling reduced decreases reduces less "
    "fewer chute chutes chuter recule reculent recules baissent baissee baisser diminuent diminuee retrait "
    "retraits sortie sorties depense depenses charge charges debits dettes deficits soustrait soustraite"
)
"""Words that tell a sign, so that their figure is written without one."""
_COMPARING = lexicon.words(
    "plus moins autant aussi superieur superieure inferieur inferieure meme memes autre autres mieux more less fewer "
    "greater higher lower same other"
)
_THAN = lexicon.words("que qu' than")
_BESIDE = lexicon.words(
    "apres hors contrairement sauf hormis excepte exceptes derriere devant after unlike excluding except besides behind"
)
THAN_WITHIN, COMPARED_WORDS_MAX = 6, 3
"""Tokens from « plus » to its « que », and words of what stands behind it."""
_DAYS = frozenset({"jours ouvrés", "jours ouvrables", "jours calendaires"})


class Figures:
    """The figures of one passage, read once for all sentences of an answer."""

    def __init__(self, source: Source, *, today: date) -> None:
        self._source = source
        self._today = today

    def prepare(self) -> None:
        """Read the figures now. Blocks for milliseconds."""
        _ = self._read, self._unread

    @cached_property
    def _read(self) -> tuple[list[Reading], list[Grid]]:
        return read(self._source, today=self._today, clocks=True)

    @cached_property
    def _unread(self) -> list[Quantity]:
        """The passage's figures of which it could not be told what they are of."""
        known = {each.quantity.start for each in self._read[0] if each.told_apart}
        return [
            each for each in quantities_in(self._source.text, language=self._source.language, clocks=True)
            if each.start not in known
        ]

    def contradiction(self, sentence: str, question: str) -> Contradiction | None:
        """Return what the passage gives otherwise of a sentence's figures; None where nothing speaks against them."""
        said = list(statements_in(
            sentence, context="", language=self._source.language, today=self._today, clocks=True
        ))
        sides = sides_named(tokens_of(sentence))
        for statement in said:
            # What the rest of the sentence names, then what the question does where an answer of one figure does not.
            of_others = {token.text for other in said if other is not statement for token in other.own}
            rest = tuple(token for token in _meant(tokens_of(sentence)) if token.text not in of_others)
            others = (rest, *([_meant(tokens_of(question))] if len(said) == 1 else []))
            found = self._of(statement, others)
            if found is None:
                continue
            meant = sides_named(tokens_of(self._source.text[found.start : found.end]))
            if found.mismatch is not Mismatch.SUBJECT or not sides or not meant or sides & meant:
                # « Au-delà de 39 heures, 50 % » is not what is meant by « jusqu'à 39 heures ».
                return found
        return None

    def _of(self, statement: Statement, others: Sequence[tuple[Token, ...]]) -> Contradiction | None:
        found = self._spoken_against(statement, others)
        if found is None:
            return None
        head = next((
            grid.table.head for grid in self._read[1] if grid.table.start <= found.start < grid.table.end
        ), None)
        return replace(found, lead=head)

    def _spoken_against(
        self, statement: Statement, others: Sequence[tuple[Token, ...]]
    ) -> Contradiction | None:
        readings, grids = self._read
        quantity = statement.quantity
        same = [each for each in readings if _is_same(quantity, each.quantity)]
        if any(_is_same(quantity, each) and _compatible(quantity, each) for each in self._unread):
            # It stands in a sentence of which nobody can tell what each figure is of.
            return None
        if not same:
            return _otherwise(statement, readings)
        words = (*_meant(statement.own), *_meant(statement.shared), *_meant(statement.lead))
        if not any(_compatible(quantity, each.quantity) for each in same):
            return _at(Mismatch.UNIT, same[0])
        same = [each for each in same if _compatible(quantity, each.quantity)]
        if not statement.told_apart:
            return None
        against: Contradiction | None = None
        for reading in same:
            found = (
                _in_table(reading, grids, (words, others[0]), others[1:]) if reading.table >= 0
                else _in_prose(reading, readings, words, others[-1] if len(others) > 1 else ())
            )
            if found is None:
                return None
            against = against or found
        return against


def _meant(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Return the words that tell what is spoken of, without what it is compared with: « plus que Lyon », « hors Lyon ».
    """
    found: list[Token] = []
    skipped = 0
    for place, token in enumerate(tokens):
        before = tokens[max(0, place - THAN_WITHIN) : place]
        if token.text in _BESIDE or (token.text in _THAN and any(each.text in _COMPARING for each in before)):
            skipped = COMPARED_WORDS_MAX
        elif token.text[0] in ",;:()" or token.text[0].isdecimal():
            skipped = 0
        if token.tells and not skipped:
            found.append(token)
        skipped = max(0, skipped - token.tells)
    return tuple(found)


def _at(mismatch: Mismatch, reading: Reading) -> Contradiction:
    return Contradiction(mismatch, reading.start, reading.end)


def _is_same(said: Quantity, given: Quantity) -> bool:
    return said.base == given.base or said.value == given.value


def _compatible(said: Quantity, given: Quantity) -> bool:
    """Return whether two amounts may be one, by their units; one without a unit may be of any."""
    one, other = said.unit, given.unit
    if NONE in (one, other) or {one.kind, other.kind} == {Kind.PERCENT, Kind.POINTS}:
        return True
    if one.kind is Kind.OTHER or other.kind is Kind.OTHER:
        return one.kind is other.kind and one.symbol == other.symbol
    if one.qualifier and other.qualifier and one.qualifier != other.qualifier:
        return False
    if one.kind is Kind.TIME and other.kind is Kind.TIME and "jours" in (one.symbol, other.symbol):
        return {one.symbol, other.symbol} <= {"jours", *_DAYS}
    return (one.base or one.symbol) == (other.base or other.symbol) and said.base == given.base


def _otherwise(statement: Statement, readings: Sequence[Reading]) -> Contradiction | None:
    """Return where a figure stands with another sign, and with no word that says so."""
    quantity = statement.quantity
    turned = [each for each in readings if each.quantity.base == -quantity.base and quantity.base != 0]
    if not turned or not any(_compatible(_turned(quantity), each.quantity) for each in turned):
        return None
    if any(token.text in _LESS for token in (*statement.own, *statement.shared, *statement.lead)):
        return None
    # « | Remise | -2 € | »: what the row is called says it.
    plain = [each for each in turned
             if not any(token.text in _LESS for token in tokens_of(f"{each.label} {each.column}"))]
    return _at(Mismatch.SIGN, plain[0]) if len(plain) == len(turned) else None


def _turned(quantity: Quantity) -> Quantity:
    return Quantity(-quantity.value, quantity.unit, quantity.start, quantity.end)


def _in_table(
    reading: Reading, grids: Sequence[Grid], tiers: Sequence[tuple[Token, ...]],
    asked: Sequence[tuple[Token, ...]],
) -> Contradiction | None:
    """Return the cell that is meant where a figure stands in another row or column than those that are named.

    What the question names counts beside what the sentence does, and never alone.
    """
    grid = next(each for each in grids if (each.source.number, each.number) == (reading.source, reading.table))
    rows = dict(enumerate(grid.label_forms))
    columns = {each: grid.header_forms[each] for each in grid.numeric}
    if not any(_scores(names, tokens) for names in (rows, columns) for tokens in tiers):
        return None
    row = _named(reading.row, rows, (*tiers, *asked))
    column = _named(reading.place, columns, (*tiers, *asked))
    if row == reading.row and column == reading.place:
        return None
    meant = grid.at(row, column)
    if meant is None or meant.quantity.same_as == reading.quantity.same_as:
        return None
    return _at(Mismatch.SUBJECT, meant)


def _named(own: int, names: Mapping[int, frozenset[str]], tiers: Sequence[tuple[Token, ...]]) -> int:
    """Return the row or column that is named better than a figure's own; that where none is."""
    for tokens in tiers:
        scores = _scores(names, tokens)
        if not scores:
            continue
        most = max(scores.values())
        best = [each for each, score in scores.items() if score == most]
        if own in best:
            return own
        # Two that are named alike: « Lyon Nord » and « Lyon Sud » for Lyon.
        return best[0] if len(best) == 1 else own
    return own


def _scores(names: Mapping[int, frozenset[str]], words: Sequence[Token]) -> Counter[int]:
    """Return how many of the words each name has that not all names have; those that have one."""
    scores: Counter[int] = Counter()
    for token in words:
        having = [place for place, forms in names.items() if told(token, forms)]
        if len(having) < len(names):
            scores.update(having)
    return scores


def _in_prose(
    reading: Reading, readings: Sequence[Reading], said: Sequence[Token], asked: Sequence[Token]
) -> Contradiction | None:
    """Return the figure that all fits where the one that is said lacks a word of its subject: one of the sentence's."""
    tokens = (*said, *asked)
    missing = {token.text for token in tokens if not covers(token, reading.forms, reading.unit)}
    if not missing:
        return None
    for other in readings:
        if other.quantity.same_as == reading.quantity.same_as or not other.is_fact:
            continue
        if not _comparable(reading.unit, other.unit):
            continue
        lacking = {token.text for token in tokens if not covers(token, other.forms, other.unit)}
        own = other.own | other.head
        named = [token for token in said if token.text in missing - lacking and told(token, own)]
        if lacking < missing and named and _is_of_another(reading, other, tokens):
            return _at(Mismatch.SUBJECT, other)
    return None


def _comparable(one: Unit, other: Unit) -> bool:
    """Return whether one amount may be said for the other: « 15 jours » for « deux mois »."""
    return one.comparable[0] == other.comparable[0] or (one.kind is other.kind is Kind.TIME)


def _is_of_another(reading: Reading, other: Reading, tokens: Sequence[Token]) -> bool:
    """Return whether a figure's own words tell of something that neither the sentence nor the other figure names."""
    known = other.forms | forms_of(tokens)
    own = {form for form in reading.own if form.isalnum() and not form.startswith(("#", "="))}
    return bool(own - known)
