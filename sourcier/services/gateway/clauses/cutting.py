"""Cuts a passage into clauses: sentences, their halves behind « mais » or « ; », items below the line that leads in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.index.language.abbreviations import goes_on

CLAUSES_MAX = 400
"""Of one passage; passages are a few hundred tokens."""
LEAD_IN_ITEMS_MAX = 200
BEFORE_CHARACTERS_MAX = 300
"""Looked at before « et »; all of a long sentence at each would be quadratic."""

_SENTENCE = re.compile(r"[^.!?…;\n]+(?:[.!?…;](?!\s|$)[^.!?…;\n]*)*[.!?…;]*")
ITEM = re.compile(r"(?:[-*•–—◦▪·]|\(?(?:\d{1,3}|[a-z])[.)°])\s+")
_TURN = re.compile(
    r",?\s(?:mais(?!\s(?:pas|non|jamais)\b)|tandis que|tandis qu['’]|alors que|alors qu['’]|en revanche|cependant|"
    r"toutefois|but(?!\snot\b)|whereas|while|however)\s|"
    r",\s(?:même si|bien que|bien qu['’]|puisque|puisqu['’]|car|parce que|parce qu['’]|because|although|though)\s|"
    r",\s(?=(?:et\s|and\s)?n(?:e\s|['’]))|\set\s(?=n(?:e\s|['’]))|"
    r"\set\s(?=(?:aucune?|nul|nulle|personne|rien)\sn(?:e\s|['’]))|"
    r",\s(?=(?:et|and)\s(?:il|elle|ils|elles|it|they)\s)", re.IGNORECASE,
)
_ALSO = re.compile(r"\s(?:et|and)\s(?=(\w+)\b)", re.IGNORECASE)
_PRONOUNS = lexicon.words("il elle ils elles celui celle ceux celles ci cela ceci ce c' it they this these she he on")
_FINITE = lexicon.words(
    "ne n' est sont etait etaient sera seront a ont avait avaient aura auront fut furent peut peuvent pourra pourront "
    "doit doivent devra devront faut is are was were has have had will can may must should does do did could might "
    "pourrait pourraient serait seraient devrait devraient"
)
_VERBS = lexicon.words(
    "ouvre ouvrent ferme ferment accepte acceptent refuse refusent autorise autorisent interdit interdisent permet "
    "permettent couvre couvrent comprend comprennent inclut incluent exclut excluent sert servent accede accedent "
    "recoit recoivent paie paient dispose disposent beneficie beneficient s' se passe passent commence commencent "
    "prend prennent offre offrent propose proposent fait font donne donnent coute coutent dure durent fonctionne "
    "accepts opens closes covers includes serves allows requires costs"
)


@dataclass(frozen=True)
class Clause:
    """One clause, where it stands, and what it takes over from around it."""

    start: int
    end: int
    """In the passage's text, of the sentence that holds it: what is quoted."""
    text: str
    """The clause alone, with the line that leads in to it."""
    tokens: tuple[Token, ...]
    sentence: int
    """Which sentence of the passage it belongs to."""
    subject: tuple[Token, ...] = ()
    """The subject of the clause before, for one that has a pronoun for subject or none."""
    lead: tuple[int, int] | None = None
    """Where the line that leads in to it stands."""
    context: tuple[Token, ...] = field(default=(), compare=False)
    """Title and headings."""


def clauses_of(text: str, context: str = "") -> list[Clause]:
    """Return the clauses of a passage; `context` are its title and headings."""
    above = tokens_of(context)
    found: list[Clause] = []
    subject: tuple[Token, ...] = ()
    lead_in: tuple[int, int] | None = None
    items, goes_further = 0, False
    predicate: tuple[Token, ...] = ()
    for number, (start, end) in enumerate(islice(_sentences(text), CLAUSES_MAX)):
        sentence = text[start:end]
        if sentence.endswith(":"):
            lead_in, items, goes_further = (start, end), 0, False
            continue
        is_item = ITEM.match(sentence) is not None
        led = lead_in if (is_item or not items or goes_further) and items < LEAD_IN_ITEMS_MAX else None
        items, goes_further = items + 1, sentence.endswith((";", ","))
        if led is None:
            lead_in = None
        lead = "" if led is None else text[led[0] : led[1]].rstrip(": ") + " "
        body = ITEM.sub("", sentence, count=1) if is_item else sentence
        for place, part in enumerate(_parts(body)):
            tokens = tokens_of(lead + part)
            tokens, predicate = _completed(tokens, predicate)
            if not any(token.tells for token in tokens):
                continue
            elliptic = (place > 0 and not _own_subject(tokens)) or tokens[0].text in _PRONOUNS
            found.append(Clause(
                start, end, lead + part, tokens, number, subject if elliptic else (),
                led, above,
            ))
            if not elliptic:
                subject = subject_of(tokens)
    return found


_BE = lexicon.words("est sont etait etaient is are was were")
_STANDING_FOR = lexicon.words("l' le")
PREDICATE_TOKENS_MAX = 8


def _completed(tokens: tuple[Token, ...], before: tuple[Token, ...]) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Return a clause with the predicate that it takes over, and its own.

    « Le matériel est fourni ; le fauteuil ne l'est pas », "the projector is not".
    """
    at = next((place for place, token in enumerate(tokens) if token.text in _BE), None)
    if not at:
        return tokens, ()
    pronoun = tokens[at - 1].text in _STANDING_FOR and at > 1
    ends = not any(token.tells for token in tokens[at + 1 :])
    is_english = tokens[at].text in ("is", "are", "was", "were")
    if before and ((pronoun and not is_english) or (is_english and ends and len(tokens) - at <= 2)):
        # The pronoun goes, and what it stands for comes behind « pas », before what else the clause says.
        head = tokens[: at - 1] if pronoun else tokens[:at]
        denial = 1 if at + 1 < len(tokens) and tokens[at + 1].text in ("pas", "plus", "not", "aussi") else 0
        return (*head, *tokens[at : at + 1 + denial], *before, *tokens[at + 1 + denial :]), before
    behind = tokens[at + 1 :]
    own = tuple(token for token in behind if token.text not in ("pas", "plus", "not", "point"))
    return tokens, own[:PREDICATE_TOKENS_MAX] if any(token.tells for token in own) else ()


def predicate_place(tokens: Sequence[Token]) -> int:
    """Return where the predicate begins, as far as that is told without a grammar; the end where it is not."""
    for place, token in enumerate(tokens):
        if token.text in _FINITE or token.text in _VERBS:
            return place
    return len(tokens)


def subject_of(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Return what stands before the predicate."""
    return tuple(tokens[: predicate_place(tokens)])


def _own_subject(tokens: Sequence[Token]) -> bool:
    place = predicate_place(tokens)
    return place < len(tokens) and any(token.tells for token in tokens[:place])


def _parts(sentence: str) -> Iterator[str]:
    """Give a sentence's coordinate clauses."""
    start = 0
    for match in _TURN.finditer(sentence):
        if len(sentence[start : match.start()].split()) >= 2:
            yield from _poles_apart(sentence[start : match.start()])
            start = match.end() if match.group().strip(" ,") else match.start()
    yield from _poles_apart(sentence[start:])


def _poles_apart(part: str) -> Iterator[str]:
    """Give apart « facultatif en salle » and « obligatoire dans la galerie »: the second pole stands behind « et »."""
    start = 0
    for match in _ALSO.finditer(part):
        following = tokens_of(match.group(1))
        pole = lexicon.POLES.get(following[0].text) if following else None
        before = tokens_of(part[max(start, match.start() - BEFORE_CHARACTERS_MAX) : match.start()])
        if (pole is not None and any(
            (other := lexicon.POLES.get(token.text)) is not None and other.scale is pole.scale for token in before
        )) or (following and following[0].text in _FINITE and predicate_place(before) < len(before)):
            yield part[start : match.start()]
            start = match.end()
    yield part[start:]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = end = 0
    for match in _SENTENCE.finditer(text):
        joined = match.start() == end and text[start:end].endswith(".") and goes_on(
            text[start:end], match.group().lstrip()
        )
        if end and not joined:
            yield from _trimmed(text, start, end)
        if not joined:
            start = match.start()
        end = match.end()
    if end:
        yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    raw = text[start:end]
    first, last = start + len(raw) - len(raw.lstrip()), start + len(raw.rstrip())
    if last <= first:
        return
    # « L'accès est interdit : … » on one line leads in to what follows it there.
    colon = text.find(" : ", first, last)
    if colon > 0 and last - colon > 4:
        yield first, colon + 2
        first = colon + 3
        if first >= last:
            return
    yield first, last
