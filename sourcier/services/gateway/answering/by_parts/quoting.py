"""The sentences of a part's passages that say most of what is asked of it: quoted where a rule can tell, word for word.

A part is asked of one document, or of one thing, so less is asked of a sentence than of an extract that has to stand
among all documents: it has to hold most of the question's words, and a value where one is asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, forms_in, tokens_of, told_by
from sourcier.services.gateway.evidence.links import extract
from sourcier.services.gateway.evidence.source_terms import informing
from sourcier.services.gateway.extracts.asking import Kind, Wanted, wanted
from sourcier.services.gateway.extracts.candidates import SEPARATOR, Sentence, joint, sentences_of
from sourcier.services.gateway.extracts.values import values_in
from sourcier.services.index.search.passages import Passage

SHARE_MIN = 0.5
"""Of the weight of a question's words that a sentence has to hold, with its lead, its columns and its headings."""
VALUE_SHARE_MIN = 0.3
"""The same of a sentence with a value of the kind that is asked for."""
THING_SHARE_MIN = 0.75
"""The same where all documents are searched: the sentence may be of another thing."""
AROUND, ABOVE = 0.85, 0.7
VALUE_BONUS, VALUE_LACKING, REFERENCE = 0.15, 0.25, 0.3
AROUND_LEAD = 0.2
"""How much less of the question a second sentence may hold."""
ALIKE_MIN = 0.5
"""Of the words of two sentences, figures apart, from which on they speak of the same."""
SENTENCES_MAX, OPENING_MAX = 2, 4
"""Quoted where no value is asked for, and of a document that is asked about as a whole."""
QUOTED_CHARACTERS_MAX = 420
SIGNED, SIGNATURES_MAX = 2.0, 6
"""The score of a line that somebody signed: all of a document's are quoted, at most so many."""
_SIGNED = re.compile(
    r"\b(?:sign(?:é|ée|és|ées|e|ent|ed|atures?|ataires?|s)\b|Pour [^.:,\n]{2,80}:)",
    re.IGNORECASE,
)
_DONE_AT = re.compile(r"^(?:fait à|done at)\b", re.IGNORECASE)
_SIGNING = frozenset(tokens_of("signe signé signée signer signature signataire signataires signed signs sign"))
_TOLD_BY_VALUES = lexicon.words(
    "ouvre ouvrent ferme ferment coute coutent vaut valent cost costs open opens close closes"
)
"""Verbs that an hour or a price tells by itself."""
_REFERENCE = re.compile(
    r"^(?:vu|consid[ée]rant|annule et remplace|le pr[ée]sent (?:avenant|accord)|pr[ée]ambule|objet|"
    r"entre les soussign)\b",
    re.IGNORECASE,
)
"""What documents begin with, which names their subject and says nothing of it."""


@dataclass(frozen=True)
class Told:
    """The sentences that say most of what is asked."""

    text: str
    """As it is shown."""
    marker: int
    """Their passage, from 1."""
    span: tuple[int, int]
    """Where they stand in the passage."""
    value: str
    """The only value of the kind that is asked for; empty where there is none, or several."""


@dataclass(frozen=True)
class _Scored:
    score: float
    sentence: Sentence
    text: str


def told(question: str, passages: Sequence[Passage], *, about: str = "", alone: bool = False) -> tuple[Told, ...]:
    """Return the sentences of a part's passages that say most of what is asked; none where none says enough.

    `about` names the thing that the sentence has to be of. `alone`: the passages are all of the part's own document.
    Blocks for milliseconds.
    """
    asked = wanted(question)
    things = wanted(about).content if about else ()
    scored = _scored(asked, _sayings(passages), things, alone=alone)
    if not scored:
        return ()
    best = scored[0]
    chosen = [best.sentence]
    if best.score == SIGNED:
        chosen += [each.sentence for each in scored[1:SIGNATURES_MAX]
                   if each.score == SIGNED and each.sentence.number == best.sentence.number]
    elif asked.kind is Kind.OTHER and not best.sentence.cells:
        more = [each for each in scored[1:] if each.sentence.number == best.sentence.number
                and not each.sentence.cells and each.score >= best.score - AROUND_LEAD]
        chosen += [each.sentence for each in more[: SENTENCES_MAX - 1]]
    return (_shown(asked, chosen, best.text),)


def told_as_a_whole(passages: Sequence[Passage], others: Sequence[Passage]) -> tuple[Told, ...]:
    """Return what a document says otherwise than `others`, or of none, its first sentences: one of a passage.

    What the others say word for word is left out, and so is what a document rests on and who signs it. What they say
    of another value comes first. Blocks for milliseconds.
    """
    known = _sayings(others)
    same = {_spaced_alike(sentence, text) for sentence, text in known}
    words = [_words_of(sentence) for sentence, _ in known]
    new = [(sentence, text) for sentence, text in _sayings(passages)
           if not _is_formal(_led(sentence, text)) and _spaced_alike(sentence, text) not in same]
    chosen = sorted(new, key=lambda each: all(
        _alike(_words_of(each[0]), other) < ALIKE_MIN for other in words
    ))[:OPENING_MAX]
    asked = wanted("")
    by_passage: dict[int, list[tuple[Sentence, str]]] = {}
    for sentence, text in chosen:
        by_passage.setdefault(sentence.number, []).append((sentence, text))
    return tuple(_shown(asked, [each for each, _ in of_one], of_one[0][1]) for of_one in by_passage.values())


def first_saying(text: str, above: Sequence[str]) -> str | None:
    """Return the first sentence of a passage that says something, below a title and headings; None where none does."""
    return next((
        led for sentence in sentences_of(1, text, "\n".join(above))
        if not sentence.cells and _tells(text[sentence.start : sentence.end], above)
        and not _is_formal(led := _led(sentence, text))
    ), None)


def _sayings(passages: Sequence[Passage]) -> list[tuple[Sentence, str]]:
    """Return the sentences of passages that say something, each with its passage's text."""
    return [
        (sentence, passage.text)
        for number, passage in enumerate((informing(each) for each in passages), start=1)
        for sentence in sentences_of(number, passage.text, passage.above)
        if _says_something(sentence, passage)
    ]


def _led(sentence: Sentence, text: str) -> str:
    """Return a sentence with what leads in to it."""
    return text[sentence.spans[0][0] : sentence.end]


def _spaced_alike(sentence: Sentence, text: str) -> str:
    return " ".join(text[sentence.start : sentence.end].split())


def _words_of(sentence: Sentence) -> frozenset[str]:
    return frozenset(form for form in sentence.own if not form.replace(".", "").isdecimal())


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _scored(
    asked: Wanted, found: Sequence[tuple[Sentence, str]], things: Sequence[Token], *, alone: bool
) -> list[_Scored]:
    signing = asked.kind is Kind.PERSON and any(token in _SIGNING for token in asked.content)
    weights = _weights(asked, [sentence for sentence, _ in found])
    total = sum(weights.values())
    least = SHARE_MIN if alone else THING_SHARE_MIN
    scored = []
    for sentence, text in found:
        said = text[sentence.start : sentence.end]
        if things and not all(told_by(token, sentence.own | sentence.around | sentence.above) for token in things):
            continue
        if signing and _SIGNED.search(_led(sentence, text)) is not None and values_in(said, Kind.PERSON):
            scored.append(_Scored(SIGNED, sentence, text))
            continue
        share = sum(weight * _credit(token, sentence) for token, weight in weights.items()) / total if total else 0.0
        has_value = bool(values_in(said, asked.kind))
        if share < (min(least, VALUE_SHARE_MIN) if has_value and alone else least):
            continue
        if not any(told_by(token, sentence.own | sentence.around) for token in weights) and not (weights and has_value):
            continue
        if asked.kind is not Kind.OTHER:
            share += VALUE_BONUS if has_value else -VALUE_LACKING
        if _REFERENCE.match(said.strip(" -*•")) is not None:
            share -= REFERENCE
        scored.append(_Scored(share, sentence, text))
    return sorted(scored, key=lambda each: -each.score)


def _weights(asked: Wanted, sentences: Sequence[Sentence]) -> dict[Token, float]:
    return {
        token: math.log(1 + (1 + len(sentences)) / (1 + sum(told_by(token, each.own | each.around)
                                                            for each in sentences)))
        for token in asked.content if asked.kind is Kind.OTHER or token.text not in _TOLD_BY_VALUES
    }


def _credit(token: Token, sentence: Sentence) -> float:
    for credit, forms in ((1.0, sentence.own), (AROUND, sentence.around), (ABOVE, sentence.above)):
        if told_by(token, forms):
            return credit
    return 0.0


def _is_formal(said: str) -> bool:
    """Return whether a sentence is of what a document rests on, or of who signs it."""
    said = said.strip(" -*•")
    return any(form.search(said) is not None for form in (_REFERENCE, _SIGNED, _DONE_AT))


def _says_something(sentence: Sentence, passage: Passage) -> bool:
    said = passage.text[sentence.start : sentence.end]
    return bool(sentence.cells) or _tells(said, (passage.title, *passage.heading_path))


def _tells(said: str, above: Sequence[str]) -> bool:
    """Return whether a sentence is one, and says something that title and headings do not."""
    said = said.strip(" #*_\n")
    if said.endswith(("?", ":")) or said in above:
        return False
    known = forms_in(tokens_of("\n".join(above)))
    return sum(token.tells and not told_by(token, known) for token in tokens_of(said)) > 1


def _shown(asked: Wanted, chosen: Sequence[Sentence], text: str) -> Told:
    """Return sentences of one passage as they are quoted."""
    first = chosen[0]
    if first.cells:
        cells = [(cell, text[cell.start : cell.end]) for cell in first.cells if text[cell.start : cell.end]]
        said = SEPARATOR.join(f"{cell.header} : {value}" if cell.header else value for cell, value in cells)
        spans = [(first.start, first.end)]
    else:
        # Items may have one line that leads in to all of them.
        spans = sorted({span for sentence in chosen for span in sentence.spans})
        said = text[spans[0][0] : spans[0][1]]
        for (_, end), (start, stop) in pairwise(spans):
            said += f"{joint(text, end, start)}{text[start:stop]}"
    values = {each.text for each in values_in(text[first.start : first.end], asked.kind)}
    quoted = extract(said.strip(" -*•\n"), text, characters_max=QUOTED_CHARACTERS_MAX)
    return Told(quoted, first.number, (spans[0][0], spans[-1][1]), values.pop() if len(values) == 1 else "")
