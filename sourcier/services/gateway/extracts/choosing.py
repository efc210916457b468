"""Chooses the sentence that answers a question best, and marks the value in it that does; None where none is sure.

A sentence is scored by the question's words that it holds, the rarer the more, those of its list's line, its columns,
its headings included; and by whether it holds a value of the kind that is asked for. Nothing is trained: the threshold
is set on all question sets together (docs/measured/quality.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import ITEM
from sourcier.services.gateway.clauses.frame import Status, frame_of
from sourcier.services.gateway.clauses.ruling import Source
from sourcier.services.gateway.clauses.tokens import Token, forms_in, has, tokens_of, told_by
from sourcier.services.gateway.extracts.asking import Kind, Wanted, wanted
from sourcier.services.gateway.extracts.candidates import Cell, Sentence, sentences_of
from sourcier.services.gateway.extracts.doubt import is_doubted
from sourcier.services.gateway.extracts.values import Value, is_full_name, names_an_agent, unit_behind, values_in
from sourcier.services.index.language import names
from sourcier.services.index.language.figures import held

MEASURED = frozenset({Kind.AMOUNT, Kind.NUMBER, Kind.DURATION, Kind.DATE, Kind.HOUR})
"""What figures and dates tell: a sentence has such a value, or it has not."""
AROUND, ABOVE = 0.85, 0.7
"""What a word of the question counts that stands in the columns or the subject before, in title and headings."""
VALUE_BONUS, VALUE_LACKING = 0.1, 0.4
NOT_A_FACT = 0.05
"""What a sentence loses that is planned, proposed or over, beside one that is so."""
SCORE_MIN, OTHER_SCORE_MIN = 0.85, 0.95
"""Asked of a sentence; more where no value is asked for, since any words may then answer, or not."""
ANSWERS_MIN, ANSWERS_CONTENT_MIN = 0.85, 3
"""Asked of a sentence that takes the place of the language model's answer."""
RIVAL_LEAD = 0.02
ELSEWHERE_LEAD = 0.05
"""Of a sentence before one of another passage that gives another value, « 5 € » here and « 6 € » there; none is enough
where that one holds all words of the question too."""
RIVALS_MAX = 6
"""Sentences that the best one is compared with, itself included."""
OUTDONE_MAX = 0.15
"""How much more of the question a sentence may hold that has no value, and so is no answer: « Part-time employees get
leave in proportion » says more to a question about them than what full-time ones get."""
CONTENT_MIN, OTHER_CONTENT_MIN, NEWS_MIN = 2, 2, 2
"""Words of a question, and of a sentence beyond them where no value is asked for."""
FEW_WORDS, SHORT = 2, 20
"""So few words of such a question are enough in a sentence of few words."""
SCATTERED = 4
"""Words of a sentence for each of the question's that it holds, from the first to the last of them: of more, they are
said of several things."""
_WORD = re.compile(r"\w+")
_ENDINGS = frozenset(".!;:…»”)%€0123456789")
"""What a line ends with that is no heading."""


@dataclass(frozen=True)
class Chosen:
    """The sentence that answers best."""

    sentence: Sentence
    score: float
    kind: Kind
    words: int
    """Of the question."""
    whole: bool
    """Whether it holds all words of the question, with its columns, its lead and its headings."""
    plain: bool
    """Whether the sentence tells a fact, with nothing that takes it back or bounds it, and no other such value."""
    answer: tuple[int, int] | None
    """Where the value that answers stands in the passage's text; None where it cannot be told."""
    value: str = ""
    """What it says to the question, whether it may be taken out of it or not; empty where that cannot be told."""
    outdone: float = 0.0
    """How much more of the question another sentence holds, that has no such value."""

    @property
    def is_sure(self) -> bool:
        """Whether it may be the answer by itself."""
        return (
            self.whole and self.plain and self.answer is not None and self.kind in MEASURED
            and self.score >= ANSWERS_MIN and self.words >= ANSWERS_CONTENT_MIN
        )


def choose(question: str, sources: Sequence[Source], *, today: date) -> Chosen | None:
    """Return the sentence of the passages, best first, that answers a question; None where none is sure to."""
    best = ranked(question, sources, today=today, count=RIVALS_MAX)
    if not best or best[0].score < SCORE_MIN or any(_are_rivals(best[0], other) for other in best[1:]):
        return None
    if best[0].outdone > OUTDONE_MAX:
        return None
    if best[0].kind is Kind.OTHER and (best[0].score < OTHER_SCORE_MIN or best[0].words < OTHER_CONTENT_MIN):
        return None
    return best[0]


def ranked(question: str, sources: Sequence[Source], *, today: date, count: int) -> list[Chosen]:
    """Return the sentences that may answer a question, best first, at most so many."""
    asked = wanted(question)
    if len(asked.content) < CONTENT_MIN:
        return []
    shares = sorted(_shares(asked, sources), key=lambda each: -each[0])
    found: list[Chosen] = []
    fullest = 0.0
    for share, source, sentence in shares:
        # What is left can come to no more than its share and the bonus.
        if len(found) >= count and share + VALUE_BONUS <= found[-1].score:
            break
        if _may_answer(asked, source, sentence):
            fullest = fullest or share
            found.append(replace(
                _chosen(asked, source, sentence, share, today=today), outdone=fullest - share
            ))
            found = sorted(found, key=lambda each: -each.score)[:count]
    return found


def _are_rivals(one: Chosen, other: Chosen) -> bool:
    """Return whether two fit alike and say different things: rows of a table, or sentences of two passages.

    Of rows it is « fin du mois 1 » and « fin du mois 3 » to « le premier mois ».
    """
    if one.sentence.number == other.sentence.number:
        return bool(one.sentence.cells and other.sentence.cells) and one.score - other.score < RIVAL_LEAD
    if not one.value or not other.value or (one.score - other.score >= ELSEWHERE_LEAD and not other.whole):
        return False
    # What another passage denies, bounds or cancels is another thing than what this one states.
    return _key(one.value) != _key(other.value) or (one.answer is None) != (other.answer is None)


def _key(value: str) -> object:
    """Return a value in the form that its ways of writing share: « 5 € » and « 5,00 euros »."""
    told = frozenset(form for token in tokens_of(value) for form in token.forms if form.replace(".", "").isdecimal())
    return told or value.casefold()


def _shares(asked: Wanted, sources: Sequence[Source]) -> list[tuple[float, Source, Sentence]]:
    """Return how much of the question each sentence holds, by what its words tell."""
    found = [(source, sentence) for source in sources
             for sentence in sentences_of(source.number, source.text, source.context)]
    weights = _weights(asked, [sentence for _, sentence in found])
    total = sum(weights.values())
    return [
        (sum(weight * _credit(token, sentence) for token, weight in weights.items()) / total, source, sentence)
        for source, sentence in found
    ]


def _weights(asked: Wanted, sentences: Sequence[Sentence]) -> dict[Token, float]:
    """Return the weight of each word of the question: the fewer sentences hold it, the more it tells."""
    return {
        token: math.log(1 + (1 + len(sentences)) / (1 + sum(
            told_by(token, sentence.own) or told_by(token, sentence.around) for sentence in sentences
        ))) for token in asked.content
    }


def _chosen(asked: Wanted, source: Source, sentence: Sentence, share: float, *, today: date) -> Chosen:
    value, told = (_of_row if sentence.cells else _value)(asked, source, sentence)
    fact = all(frame_of(clause.tokens, today=today).status is Status.FACT for clause in sentence.clauses)
    score = share + (0.0 if told is None else VALUE_BONUS if told else -VALUE_LACKING) - (0.0 if fact else NOT_A_FACT)
    said = source.text[sentence.start : sentence.end]
    doubted = value is not None and _is_doubted(asked, source, sentence, value, today=today)
    plain = fact and not doubted and (bool(sentence.cells) or len(_new_values(asked, said)) == 1)
    whole = all(told_by(token, sentence.own | sentence.around | sentence.above) for token in asked.content)
    text = "" if value is None else source.text[value[0] : value[1]]
    return Chosen(
        sentence, score, asked.kind, len(asked.content), whole, plain, None if doubted else value, text,
    )


def _is_doubted(asked: Wanted, source: Source, sentence: Sentence, value: tuple[int, int], *, today: date) -> bool:
    """Return whether a value says something else by itself than in its sentence."""
    spans = [source.text[start:end] for start, end in sentence.spans]
    if not sentence.cells:
        at = (value[0] - sentence.start, value[1] - sentence.start)
        return is_doubted(asked, spans, source.text[sentence.start : sentence.end], at, today=today,
                          clauses=[clause.tokens for clause in sentence.clauses])
    cells = [source.text[cell.start : cell.end] for cell in sentence.cells]
    own = next(cell for cell in sentence.cells if (cell.start, cell.end) == value)
    # Each cell is a clause of its own: « adulte, sauf le dimanche » excepts no price.
    return is_doubted(
        asked, [*cells, own.header], source.text[value[0] : value[1]], _figure_in(source.text[value[0] : value[1]]),
        today=today, is_row=True, clauses=[tokens_of(each) for each in (*cells, own.header) if each],
    )


def _figure_in(cell: str) -> tuple[int, int]:
    """Return from the first to the last figure of a cell; the whole of it where it has none."""
    figures = [place for place, letter in enumerate(cell) if letter.isdecimal()]
    return (figures[0], figures[-1] + 1) if figures else (0, len(cell))


def _credit(token: Token, sentence: Sentence) -> float:
    for credit, forms in ((1.0, sentence.own), (AROUND, sentence.around), (ABOVE, sentence.above)):
        if told_by(token, forms):
            return credit
    return 0.0


def _may_answer(asked: Wanted, source: Source, sentence: Sentence) -> bool:
    """Return whether a sentence is one at all, says more than is asked, and holds the question's figures and names."""
    said = source.text[sentence.start : sentence.end]
    if said.rstrip(" »”\"").endswith("?") or _is_heading(said, sentence, source) or _is_cut(said, sentence):
        return False
    question = forms_in(asked.content)
    tokens = [token for start, end in sentence.spans for token in tokens_of(source.text[start:end])]
    texts = {token.text for token in tokens}
    if any(texts.isdisjoint(rank) for rank in asked.ranks):
        return False
    if not sentence.cells and _is_scattered(asked, tokens_of(source.text[sentence.start : sentence.end])):
        return False
    news = {token.text for token in tokens_of(said)
            if (token.tells or token.text in lexicon.RESTRICTING) and not told_by(token, question)}
    if len(news) < (1 if asked.kind in MEASURED or sentence.cells else NEWS_MIN):
        return False
    if asked.name and not any(not told_by(token, question) for name in names.names(said) for token in tokens_of(name)):
        return False
    if asked.why and not has(tokens, lexicon.REASONS):
        return False
    whole = "\n".join((source.context, *(source.text[start:end] for start, end in sentence.spans),
                       *(cell.header for cell in sentence.cells)))
    if asked.figures:
        figures = held(whole)
        if not asked.figures <= figures.numbers | figures.codes:
            return False
    return all(_is_named(name, whole) for name in asked.names)


def _is_scattered(asked: Wanted, tokens: Sequence[Token]) -> bool:
    """Return whether the question's words stand far apart in a sentence."""
    places = [found for word in asked.content
              if (found := [place for place, token in enumerate(tokens) if told_by(word, token.forms)])]
    if len(asked.content) <= FEW_WORDS and asked.kind not in MEASURED and len(tokens) > SHORT:
        return True
    widths = (
        _width([min(found, key=partial(_distance, anchor)) for found in places]) for first in places[:1]
        for anchor in first
    )
    return min(widths, default=0) >= SCATTERED * len(places) > 0


def _distance(anchor: int, place: int) -> int:
    return abs(place - anchor)


def _width(places: Sequence[int]) -> int:
    return max(places) - min(places)


def _is_named(name: str, text: str) -> bool:
    if name.isupper():
        # « CET » is not « cet ».
        return name in _WORD.findall(text)
    return names.holds(name, names.known_words(text))


def _is_cut(said: str, sentence: Sentence) -> bool:
    """Return whether a sentence begins before its passage does: what is missing may deny it."""
    return sentence.start == 0 and said[:1].islower()


def _is_heading(said: str, sentence: Sentence, source: Source) -> bool:
    if sentence.cells:
        return False
    plain = said.strip(" #*")
    return plain in source.context.split("\n") or (
        sentence.lead is None and said.rstrip(" *_")[-1:] not in _ENDINGS and not ITEM.match(said)
    )


def _value(asked: Wanted, source: Source, sentence: Sentence) -> tuple[tuple[int, int] | None, bool | None]:
    """Return where the value that answers stands, and whether there is one; None for a question that asks for none."""
    if asked.kind is Kind.OTHER:
        return None, None
    said = source.text[sentence.start : sentence.end]
    values = _new_values(asked, said)
    if asked.unit and asked.kind in (Kind.NUMBER, Kind.DURATION):
        values = [value for value in values if _counts(asked, said, value)]
    if not values:
        if asked.kind is Kind.PERSON:
            known = forms_in(asked.content)
            return None, names_an_agent(tuple(token for token in tokens_of(said) if not told_by(token, known)))
        return None, False
    if len(values) > 1 or (asked.kind is Kind.PERSON and not is_full_name(values[0].text)):
        return None, True
    [value] = values
    return (sentence.start + value.start, sentence.start + value.end), True


def _new_values(asked: Wanted, said: str) -> list[Value]:
    """Return the values of the kind asked for that the question does not name itself."""
    known = forms_in(tokens_of(asked.text))
    found = []
    for value in values_in(said, asked.kind):
        tokens = [token for token in tokens_of(value.text) if token.tells]
        if asked.kind in (Kind.PERSON, Kind.PLACE):
            if tokens and not all(told_by(token, known) for token in tokens):
                found.append(value)
        elif not (held(value.text).numbers and held(value.text).numbers <= asked.figures):
            found.append(value)
    return found


def _counts(asked: Wanted, said: str, value: Value) -> bool:
    return any(not token.forms.isdisjoint(asked.unit) for token in (*tokens_of(value.text), *unit_behind(said, value)))


def _of_row(asked: Wanted, source: Source, sentence: Sentence) -> tuple[tuple[int, int] | None, bool | None]:
    """Return the cell that answers: of the column whose header says most of what the row does not."""
    known = [token for token in asked.content if told_by(token, sentence.own)]
    wanted_columns = [token for token in asked.content if token not in known]
    if not known:
        return None, False
    shares = [
        (sum(told_by(token, forms_in(tokens_of(cell.header))) for token in wanted_columns), cell)
        for cell in sentence.cells if not _holds_any(source, cell, known)
    ]
    best = max((share for share, _ in shares), default=0)
    columns = [cell for share, cell in shares if share == best]
    if len(columns) != 1 or (not best and len(shares) > 1):
        return None, None if asked.kind is Kind.OTHER else False
    [cell] = columns
    text = source.text[cell.start : cell.end]
    if not text or (asked.kind in MEASURED and not held(text).any):
        return None, False
    return (cell.start, cell.end), True


def _holds_any(source: Source, cell: Cell, known: Sequence[Token]) -> bool:
    forms = forms_in(tokens_of(source.text[cell.start : cell.end]))
    return any(told_by(token, forms) for token in known)
