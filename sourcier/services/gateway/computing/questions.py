"""Questions that ask for a computation, told from others and brought into a closed form: an operation and its parts.

Only what is surely one is taken. « Quelle est la différence entre un CDD et un CDI ? » has the form too: whether there
are figures to set off is seen in the passages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.computing import time_questions
from sourcier.services.gateway.computing.asking import (
    AMBIGUOUS_DATE,
    AND,
    BETWEEN,
    Asked,
    Operation,
    Said,
    as_typed,
    spans_between,
)
from sourcier.services.gateway.figures.quantities import quantities_in
from sourcier.services.gateway.figures.units import Kind
from sourcier.services.index.language.stop_words import fold_in_place

QUESTION_CHARACTERS_MAX = 300
PARTS_MAX = 6

_PERCENT = re.compile(r"%|\bpour ?cents?\b|\bpourcentage\b|\bpercent(?:age)?\b")


_NARROWED = re.compile(
    r"\b(?:pas|sauf|hors|sans|excepte|hormis|depuis|derniere?|prochaine?|precedente?|except|without|excluding|since|not|"
    r"previous|(?:last|next) (?:year|month|week|quarter))\b"
)


def asked(question: str, *, language: str = "fr") -> Asked | None:
    """Return the computation that a question asks for; None for any other question."""
    typed = as_typed(question)
    if not typed or len(typed) > QUESTION_CHARACTERS_MAX:
        return None
    said = Said(typed, fold_in_place(typed), language)
    if language != "fr" and AMBIGUOUS_DATE.search(said.plain):
        return None
    if _NARROWED.search(said.plain):
        # Function words that no figure's words tell: « sans », « l'an dernier », « n'ont pas ».
        return None
    return next((found for form in _FORMS if (found := form(said)) is not None), None)


_DIFFERENCE = re.compile(
    r"(?:quel(?:le)? (?:est|etait|sera) (?:la |l'|le )|what (?:is|was) the |calcule[rz]? (?:la |l')|il y a )"
    r"(?:difference|ecart)\b"
)
_MORE = re.compile(
    r"(?:combien|how (?:much|many)) (?:d'|de )?(?P<what>[^?]{0,60}?)\s?\b(?:de |en )?(?:plus|moins|more|fewer|less)\b"
)
_THAN = re.compile(r"\b(?:que\s|qu'|than\s)")
_EXCEEDS = re.compile(r"\b(?:depasse|depassait|excede)(?:nt)?(?:-t)?(?:-ils?|-elles?)?\s")


def _difference(said: Said) -> Asked | None:
    head = _DIFFERENCE.match(said.plain)
    if head is not None:
        between = BETWEEN.search(said.plain, head.end())
        return None if between is None else _pair(said, Operation.DIFFERENCE, head.end(), between)
    more = _MORE.match(said.plain)
    than = None if more is None else _THAN.search(said.plain, more.end())
    if more is not None and than is not None:
        first = said.typed[more.end() : than.start()].strip()
        second = said.typed[than.end() :].strip()
        if first and second and _figures_free(second, said.language):
            what = said.typed[more.start("what") : more.end("what")]
            less = re.search(r"\b(?:moins|fewer|less)$", more.group().rstrip()) is not None
            return Asked(Operation.DIFFERENCE, what, (first, second), direction=-1 if less else 1)
    if said.plain.startswith("de combien "):
        exceeds = _EXCEEDS.search(said.plain, 11)
        if exceeds is not None:
            parts = (said.typed[11 : exceeds.start()], said.typed[exceeds.end() :])
            return Asked(Operation.DIFFERENCE, "", parts, direction=1)
    return None


def _figures_free(text: str, language: str) -> bool:
    return not quantities_in(text, language=language)


def _pair(said: Said, operation: Operation, head_end: int, between: re.Match[str]) -> Asked | None:
    """Return two things between which something is; the place where the one ends is the first « et » of few."""
    cuts = [match for match in AND.finditer(said.plain, between.end()) if "," not in match.group()]
    if not cuts or len(cuts) > 1:
        return None
    [cut] = cuts
    return Asked(
        operation, said.typed[head_end : between.start()],
        (said.typed[between.end() : cut.start()], said.typed[cut.end() :]),
        percent=_PERCENT.search(said.plain) is not None,
    )


_GROWTH_HEAD = re.compile(
    r"(?:de combien(?: de (?:%|pour cents?|pourcents?|points))?|de quel pourcentage|quel(?:le)? (?:est|a ete|fut) "
    r"(?:l'|la |le )(?:(?:taux|pourcentage) d[e']\s?)?(?:evolution|hausse|baisse|augmentation|progression|variation|"
    r"croissance|diminution|recul)|by how much|by what percentage|what (?:is|was) the (?:growth|increase|decrease|rise|"
    r"change|drop)(?: (?:rate|in|of))?)\b"
)
_MOVES = re.compile(
    r"\b(?:augment|baiss|progress|diminu|recul|accru|cru\b|croit|evolu|vari|gr[eo]w|grown|ris(?:e|en|ing)\b|rose\b|f[ae]ll|"
    r"increas|decreas|drop|chang)\w*(?:-t)?(?:-ils?|-elles?)?"
)
_FROM_TO = re.compile(r"\b(?:de|from)\s(?P<first>\S{1,12})\s(?:a|to)\s(?P<second>\S{1,12})$")
_UP_WORD = re.compile(r"\b(?:augment|hausse|progress|accru|cru\b|croit|croissance|gr[eo]w|ris|rose\b|increas)")
_DOWN_WORD = re.compile(r"\b(?:baiss|diminu|recul|chut|f[ae]ll|decreas|drop|reduc|reduit)")


def _growth(said: Said) -> Asked | None:
    found = _moving(said)
    if found is None:
        return None
    up, down = _UP_WORD.search(said.plain) is not None, _DOWN_WORD.search(said.plain) is not None
    return replace(found, direction=up - down)


def _moving(said: Said) -> Asked | None:
    head = _GROWTH_HEAD.match(said.plain)
    if head is None:
        return None
    moves = _MOVES.search(said.plain, head.end())
    if moves is None and said.plain[:4] not in ("quel", "what"):
        return None
    percent = _PERCENT.search(said.plain) is not None or re.search(r"\b(?:taux|rate)\b", head.group()) is not None
    between = BETWEEN.search(said.plain, head.end())
    skipped = [] if moves is None else [moves.span()]
    if between is None:
        spans = _FROM_TO.search(said.plain, head.end())
        if spans is None:
            return None
        about = said.without((0, head.end()), (spans.start(), len(said.typed)), *skipped)
        first, second = (said.typed[spans.start(name) : spans.end(name)] for name in ("first", "second"))
        return Asked(Operation.GROWTH, _left(about), (first, second), percent=percent)
    found = _pair(said, Operation.GROWTH, head.end(), between)
    if found is None:
        return None
    about = said.without((0, head.end()), (between.start(), len(said.typed)), *skipped)
    parts = tuple(_PERCENT_TAIL.sub("", part) for part in found.parts)
    return replace(found, about=_left(about), parts=parts, percent=percent)


_PERCENT_TAIL = re.compile(r",? en (?:%|pourcentage|pour ?cent)\s?$", re.IGNORECASE)


def _left(text: str) -> str:
    return re.sub(r"%|\b(?:pour ?cents?|pourcentage|percentage|percent)\b", " ", text, flags=re.IGNORECASE)


_SUM = re.compile(
    r"\b(?:au total|en tout|in total|altogether|together|totaux|totale?s?|"
    r"(?<!l')(?<!d')(?<!quel )ensemble|(?:la |the )?(?:somme|sum) (?:des?\b|du\b|d'|of\b))"
)
_ASKS_FIGURE = re.compile(r"(?:quell?e?s?|combien|what|how|calcule[rz]?|au total|en tout|donne[rz]?)\b")


def _sum(said: Said) -> Asked | None:
    word = _SUM.search(said.plain)
    if word is None or _ASKS_FIGURE.match(said.plain) is None or BETWEEN.search(said.plain) is not None:
        return None
    rest = said.without(word.span())
    plain = fold_in_place(rest)
    cuts = list(AND.finditer(plain))
    if not cuts:
        return Asked(Operation.SUM, _open(rest))
    parts = tuple(_open(rest[start:end]) for start, end in spans_between(cuts, 0, len(rest)))
    if len(parts) > PARTS_MAX or not all(part.strip() for part in parts):
        return None
    return Asked(Operation.SUM, "", parts)


_OPENING = re.compile(
    r"(?:quell?e?s? (?:est|sont|etait|sera)|combien (?:de |d')?(?:y a-t-il (?:de |d')?)?|"
    r"what (?:is|are|was)|how (?:much|many)(?: (?:is|are|do|does|did))?|calcule[rz]?)\s?", re.IGNORECASE,
)


def _open(text: str) -> str:
    text = text.lstrip()
    opening = _OPENING.match(text)
    return text if opening is None else text[opening.end() :]


_MEAN = re.compile(r"\b(?:en moyenne|la moyenne (?:des?\b|du\b|d')|moyen|moyennes?|on average|average|mean)\b")


def _average(said: Said) -> Asked | None:
    word = _MEAN.search(said.plain)
    if word is None or re.match(r"(?:quell?e?s? (?:est|sont|etait)|what (?:is|was)|calcule)", said.plain) is None:
        return None
    return Asked(Operation.AVERAGE, _open(said.without(word.span())))


_SHARE = re.compile(
    r"(?:quelle (?:est la )?(?:part|proportion)|quel (?:est le )?pourcentage|what (?:is the )?(?:share|percentage|"
    r"proportion))\s(?:d'|des?\s|du\s|of\s)"
)
_STANDS_FOR = re.compile(r"\b(?:represent|obtenu|make|account)\w*(?:-t)?(?:-ils?|-elles?)?")


def _share(said: Said) -> Asked | None:
    head = _SHARE.match(said.plain)
    stands = None if head is None else _STANDS_FOR.search(said.plain, head.end())
    if head is None or stands is None:
        return None
    return Asked(Operation.SHARE, said.without(head.span(), stands.span()))


_SUPERLATIVE = re.compile(
    r"\b(?:(?:le|la|les|l'|a la|au) ?(?P<sign>plus|moins) (?P<adjective>de\b|d'|[a-z]+)|"
    r"(?:the )?(?P<word>highest|lowest|largest|smallest|biggest|longest|shortest|cheapest|most expensive|most|least|"
    r"fewest|greatest))"
)
_UP = lexicon.words(
    "eleve elevee eleves elevees haut haute grand grande important importante fort forte gros grosse "
    "de d' nombreux nombreuse chaud chaude"
)
_DOWN = lexicon.words(
    "faible faibles bas basse petit petite reduit reduite froid froide"
)
_KINDS = {"cher": Kind.MONEY, "chere": Kind.MONEY, "chers": Kind.MONEY, "cheres": Kind.MONEY, "couteux": Kind.MONEY,
          "couteuse": Kind.MONEY, "long": Kind.TIME, "longue": Kind.TIME, "longtemps": Kind.TIME}
_ENGLISH = {
    "highest": (True, None), "largest": (True, None), "biggest": (True, None), "greatest": (True, None),
    "most": (True, None), "lowest": (False, None), "smallest": (False, None), "least": (False, None),
    "fewest": (False, None), "longest": (True, Kind.TIME), "shortest": (False, Kind.TIME),
    "cheapest": (False, Kind.MONEY), "most expensive": (True, Kind.MONEY),
}
_WHICH = re.compile(r"(?:quell?e?s?|lequel|laquelle|lesquels|lesquelles|qui|which|what|dans quel(?:le)?)\b")
_OR = re.compile(r"\s(?:ou|or)\s")


def _extreme(said: Said) -> Asked | None:
    opening = _WHICH.match(said.plain)
    found = list(_SUPERLATIVE.finditer(said.plain))
    if opening is None or len(found) != 1:
        return None
    [match] = found
    direction = _direction(match)
    if direction is None:
        return None
    highest, kind = direction
    named = _named(said, match)
    rest = said.without(opening.span(), match.span())
    if named is None:
        return None if _OR.search(said.plain) else Asked(Operation.EXTREME, rest, highest=highest, kind=kind)
    about = said.without(opening.span(), match.span(), named[0])
    return Asked(Operation.EXTREME, about, named[1], highest=highest, kind=kind)


def _direction(match: re.Match[str]) -> tuple[bool, Kind | None] | None:
    if match.group("word"):
        return _ENGLISH[match.group("word")]
    more, adjective = match.group("sign") == "plus", match.group("adjective")
    if adjective in _UP:
        return more, None
    if adjective in _DOWN:
        return not more, None
    if adjective in ("court", "courte"):
        return not more, Kind.TIME
    return (more, _KINDS[adjective]) if adjective in _KINDS else None


def _named(said: Said, match: re.Match[str]) -> tuple[tuple[int, int], tuple[str, ...]] | None:
    """Return where the things to choose from stand, and each: « …, la carte ou l'abonnement »."""
    cut = next(_OR.finditer(said.plain, match.end()), None)
    comma = said.plain.rfind(", ", 0, cut.start()) if cut is not None else -1
    if cut is None or comma < match.end() - 1:
        return None
    return (comma, len(said.typed)), (said.typed[comma + 2 : cut.start()], said.typed[cut.end() :])


_COUNT = re.compile(r"(?:combien (?:y a-t-il )?(?:de |d')|how many )")
_LISTED = re.compile(
    r"\b(?:figurent|sont (?:listee?s?|mentionnee?s?|presente?s?|indiquee?s?)|(?:dans|in) (?:le|la|the) "
    r"(?:tableau|liste|table|list)|y a-t-il|are (?:listed|there))\b"
)
_LIMIT = re.compile(
    r"\b(?P<over>plus d[e']|superieure?s? a|au-dessus d[e']|depassent|more than|over|above)|"
    r"\b(?P<under>moins d[e']|inferieure?s? a|en dessous d[e']|less than|fewer than|under|below)"
)
_MANY = re.compile(r"\b(?:faut-il|doit-on|sont|est-ce|devons-nous|must|should|need|are)\b")


def _count(said: Said) -> Asked | None:
    head = _COUNT.match(said.plain)
    if head is None:
        return None
    limits = list(_LIMIT.finditer(said.plain, head.end()))
    if len(limits) == 1:
        [match] = limits
        found = [each for each in quantities_in(said.typed, language=said.language) if each.start >= match.end() - 1]
        if len(found) != 1 or found[0].start > match.end() + 2:
            return None
        limit = found[0]
        about = said.without(head.span(), (match.start(), limit.end))
        return Asked(Operation.COUNT, about, highest=match.group("over") is not None, limit=limit)
    listed = _LISTED.search(said.plain)
    if listed is not None or _MANY.search(said.plain, head.end()) is not None:
        spans = [head.span(), *([listed.span()] if listed is not None and listed.start() >= head.end() else [])]
        return Asked(Operation.COUNT, said.without(*spans))
    return None


_FORMS: tuple[Callable[[Said], Asked | None], ...] = (
    time_questions.deadline, time_questions.age, _growth, _difference, _share, _average, _extreme, _sum,
    time_questions.duration, _count,
)
