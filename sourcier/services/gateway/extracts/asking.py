"""What a question asks for: its words, and the kind of value that answers it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.index.language import names
from sourcier.services.index.language.figures import stated
from sourcier.services.index.language.stop_words import fold

QUESTION_CHARACTERS_MAX = 400


class Kind(Enum):
    """The kind of value that answers a question."""

    AMOUNT = "amount"
    """Money or a share."""
    DURATION = "duration"
    DATE = "date"
    HOUR = "hour"
    NUMBER = "number"
    PERSON = "person"
    PLACE = "place"
    OTHER = "other"
    """A name, a rule, a manner: any sentence may answer it."""


@dataclass(frozen=True)
class Wanted:
    """A question as sentences are compared with it."""

    text: str
    kind: Kind
    content: tuple[Token, ...]
    """Its words that carry meaning, without those that only name the kind of value."""
    unit: frozenset[str]
    """The forms of what is counted: of « jours » in « combien de jours »; empty where nothing is."""
    figures: frozenset[str]
    """Its own figures, which a sentence must hold and which answer nothing."""
    names: tuple[str, ...]
    """Its capitalised names, which a sentence or what stands above it must hold."""
    name: bool
    """Whether it asks for a name."""
    why: bool
    """Whether it asks for a reason."""
    ranks: tuple[frozenset[str], ...]
    """Of each word that picks one of several (« premier », « plus », « seul »), the words of which a sentence must hold
    one."""


DURATION_UNIT = (
    r"(?:secondes?|minutes?|heures?|jours?|journees?|semaines?|mois|trimestres?|semestres?|ans?|annees?|siecles?|"
    r"seconds?|hours?|days?|weeks?|months?|quarters?|years?)"
)
_IS = r"(?:est|sont|etait|etaient|sera|seront|fut)"
_AMOUNTS = (
    r"(?:prix|montants?|tarifs?|couts?|plafonds?|budget|salaires?|taux|frais|pourcentage|indemnites?|remboursement|"
    r"chiffre d'affaires|capital|loyers?|cotisations?|benefices?|remises?|valeurs?)"
)
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (Kind.HOUR, re.compile(
        rf"\bquelles? heures?\b|\bquels? (?:{_IS} les )?horaires?\b|\bhoraires? (?:d[eu']|des)\b|\bwhat time\b|"
        r"\b(?:opening|working) hours\b"
    )),
    (Kind.DURATION, re.compile(
        rf"\bcombien de temps\b|\bquelle {_IS} la duree\b|\bquelle duree\b|\bhow long\b|"
        rf"\bquels? (?:{_IS} )?(?:le |les )?(?:delais?|preavis)\b|\bnotice period\b|\bwhat duration\b|"
        r"\bwhat is the duration\b"
    )),
    (Kind.AMOUNT, re.compile(
        r"\bhow much\b|\bcombien (?:cout|vaut|valent|gagn|touch|pai|pay|est|sont|rembours|fau|percoi|recoi|rapport)|"
        rf"\bquels? (?:{_IS} )?(?:le |les )?{_AMOUNTS}\b|"
        rf"\bquelle (?:{_IS} )?(?:la |l')?(?:part|somme|indemnite|proportion|prime)\b|\ba (?:quelle )?hauteur\b|"
        r"\bwhat (?:(?:is|was|are) the (?:\w+ )?)?(?:price|amount|fee|cost|rate|budget|salary|share|percentage|refund|"
        r"allowance)\b"
    )),
    (Kind.DATE, re.compile(
        r"\bquand\b|\bwhen\b|\b(?:what|which) (?:date|day|year|month)\b|"
        rf"\bquel(?:le)?s? (?:{_IS} )?(?:la |l'|les )?(?:dates?|annees?|jours?|mois|siecle|periodes?|epoques?)\b"
    )),
    (Kind.NUMBER, re.compile(
        rf"\bcombien\b|\bhow many\b|\bquel (?:{_IS} )?(?:le )?nombre\b|\bwhat (?:(?:is|was) the )?number\b"
    )),
    (Kind.PERSON, re.compile(
        rf"^\W*qui\b|\b(?:a|de|par|pour|avec|chez|aupres de) qui\b|(?<!ce )\bqui {_IS}\b|\bwho\b|\bwhom\b|\bwhose\b"
    )),
    (Kind.PLACE, re.compile(
        r"\boù\b|\bwhere\b|"
        rf"\bquel(?:le)? (?:{_IS} )?(?:la |le |l')?(?:ville|pays|lieu|endroit|adresse|batiment|salle|region|"
        r"departement|continent)\b|\b(?:what|which) (?:city|town|country|place|room|building|address)\b"
    )),
)
_UNIT = re.compile(r"\bcombien (?:de |d')(\w+(?: \w+)?)|\bhow many (\w+(?: \w+)?)|\bnombre (?:total )?(?:de |d')(\w+)")
_DURATIONS = re.compile(DURATION_UNIT)
_RANKS = tuple(map(lexicon.words, (
    "premier premiere premiers premieres 1 first", "deuxieme second seconde 2", "troisieme third 3",
    "dernier derniere derniers dernieres last latest", "seul seule seuls seules uniquement seulement only",
    "plus maximum maximal maximale most more highest largest longest biggest superieur superieure",
    "moins minimum minimal minimale least less lowest smallest inferieur inferieure", "sans without",
)))
_NAMING = re.compile(
    r"\bs'appell|\bse nomm|\bquels? (?:est |sont |etait )?(?:le |les )?(?:pre)?noms?\b|\b(?:the|what) name\b|\bcalled\b"
)
_ACRONYM = re.compile(r"(?<!\w)[A-ZÀ-Ý]{2,}(?!\w)")
_ASKING = lexicon.words(
    "quel quelle quels quelles combien comment pourquoi quand qui quoi que ou lequel laquelle date annee jour heure "
    "horaire horaires montant prix tarif cout nombre duree temps delai lieu endroit what which who whom whose when "
    "where why how much many long price amount cost number date year time kind sort type"
)
"""Words that ask, or name the kind of value and nothing else."""
NAMING_WORDS = _ASKING | lexicon.words(
    "taux valeur somme total budget plafond periode rate value sum total fee"
)
"""What a sentence may call a value, whatever the question calls it."""
_LIGHT = lexicon.words(
    "fait appelle nomme nommee compte comptait comptent compter comporte dispose disposait possede existait called "
    "named"
)
"""Verbs that a question needs and its answer not."""


def wanted(question: str) -> Wanted:
    """Return what a question asks for."""
    text = question.strip()[:QUESTION_CHARACTERS_MAX]
    # « où » alone tells a place: « ou » is « or ».
    folded = " ".join("où" if word == "où" else fold(word) for word in _plain(text).split())
    kind = next((each for each, form in _KINDS if form.search(folded)), Kind.OTHER)
    unit = _counted(folded) if kind in (Kind.NUMBER, Kind.AMOUNT) else frozenset()
    if kind is Kind.NUMBER and (match := _UNIT.search(folded)) and _DURATIONS.match(_noun(match)):
        kind = Kind.DURATION
    tokens = tokens_of(text.rstrip(" ?.!"))
    figures = stated(text)
    content = tuple(dict.fromkeys(
        token for token in tokens if token.tells and token.text not in _ASKING and token.text not in _LIGHT
    ))
    acronyms = () if text.isupper() else _ACRONYM.findall(text)
    return Wanted(
        text, kind, content, unit, figures.numbers | figures.codes,
        tuple(dict.fromkeys((*names.names(text), *acronyms))),
        _NAMING.search(folded) is not None, any(token.text in ("pourquoi", "why") for token in tokens),
        tuple(each for each in _RANKS if any(token.text in each and not token.text.isdecimal() for token in tokens)),
    )


def _plain(text: str) -> str:
    return text.casefold().replace("\u2019", "'").replace("d'où", "d' où")


def _counted(folded: str) -> frozenset[str]:
    match = _UNIT.search(folded)
    if match is None:
        return frozenset()
    return frozenset().union(*(token.forms for token in tokens_of(_noun(match).split()[0])))


def _noun(match: re.Match[str]) -> str:
    """Return what is counted."""
    return next(str(group) for group in match.groups() if group)
