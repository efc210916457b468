"""Units of amounts, each in one form: what may be added to what, and how it is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum

from sourcier.services.index.language.stop_words import fold_in_place


class Kind(Enum):
    """What an amount measures; amounts of two kinds are never set off against one another."""

    NUMBER = "number"
    MONEY = "money"
    PERCENT = "percent"
    POINTS = "points"
    TIME = "time"
    LENGTH = "length"
    AREA = "area"
    VOLUME = "volume"
    MASS = "mass"
    ENERGY = "energy"
    TEMPERATURE = "temperature"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as it is shown, and what one of it is in the smallest unit that it is compared in."""

    symbol: str
    kind: Kind
    base: str = ""
    """The unit that it is a multiple of; its own symbol where empty."""
    factor: Decimal = Decimal(1)
    qualifier: str = ""
    """« HT », « TTC », « par mois »: amounts of two qualifiers are not compared."""

    @property
    def comparable(self) -> tuple[str, str]:
        """Return what two amounts have to share to be added."""
        return self.base or self.symbol, self.qualifier

    @property
    def shown(self) -> str:
        """Return the unit with its qualifier."""
        if self.qualifier.startswith("/"):
            return f"{self.symbol}{self.qualifier}"
        return f"{self.symbol} {self.qualifier}".strip()


NONE = Unit("", Kind.NUMBER)
CLOCK = Unit("h", Kind.OTHER)
"""A time of day, in minutes from midnight."""
POINTS = Unit("points", Kind.POINTS)
PERCENT = Unit("%", Kind.PERCENT)
EURO = Unit("€", Kind.MONEY)
DAYS = Unit("jours", Kind.TIME)
YEARS = Unit("ans", Kind.TIME)
_THOUSAND, _MILLION, _MILLIARD = Decimal(1000), Decimal(10**6), Decimal(10**9)

_UNITS: dict[str, Unit] = {}


def _add(names: str, unit: Unit) -> None:
    _UNITS.update({name.replace("_", " "): unit for name in names.split()})


_add("€ euro euros eur", EURO)
_add("k€ keur ke", Unit("k€", Kind.MONEY, "€", _THOUSAND))
_add("m€ meur", Unit("M€", Kind.MONEY, "€", _MILLION))
_add("md€ mds€", Unit("Md€", Kind.MONEY, "€", _MILLIARD))
_add("£ pound pounds gbp", Unit("£", Kind.MONEY))
_add("$ dollar dollars usd", Unit("$", Kind.MONEY))
_add("chf francs_suisses", Unit("CHF", Kind.MONEY))
_add("% pour_cent pourcent percent per_cent", PERCENT)
_add("point points points_de_pourcentage percentage_points", POINTS)
_add("jour jours day days j", DAYS)
for _name in ("ouvrés", "ouvrables", "calendaires", "francs"):
    _folded = fold_in_place(_name)
    _add(f"jours_{_folded} jour_{_folded[:-1]}", Unit(f"jours {_name}", Kind.TIME))
_add("working_days business_days working_day business_day", Unit("jours ouvrés", Kind.TIME))
_add("calendar_days", Unit("jours calendaires", Kind.TIME))
_add("semaine semaines week weeks", Unit("semaines", Kind.TIME))
_add("mois month months", Unit("mois", Kind.TIME))
_add("an ans annee annees year years", YEARS)
_add("heure heures hour hours h", Unit("heures", Kind.TIME))
_add("minute minutes min mn", Unit("minutes", Kind.TIME))
_add("seconde secondes second seconds", Unit("secondes", Kind.TIME))
_add("km kilometre kilometres", Unit("km", Kind.LENGTH))
_add("m metre metres", Unit("m", Kind.LENGTH))
_add("cm centimetre centimetres", Unit("cm", Kind.LENGTH))
_add("mm millimetre millimetres", Unit("mm", Kind.LENGTH))
_add("m² m2 metres_carres", Unit("m²", Kind.AREA))
_add("km² km2", Unit("km²", Kind.AREA))
_add("ha hectare hectares", Unit("ha", Kind.AREA))
_add("m³ m3", Unit("m³", Kind.VOLUME))
_add("l litre litres", Unit("l", Kind.VOLUME))
_add("l/100_km l/100km", Unit("l/100 km", Kind.OTHER))
_add("tonne tonnes t", Unit("tonnes", Kind.MASS))
_add("kg kilo kilos kilogrammes", Unit("kg", Kind.MASS))
_add("g gramme grammes", Unit("g", Kind.MASS))
_add("kwh", Unit("kWh", Kind.ENERGY))
_add("mwh", Unit("MWh", Kind.ENERGY))
_add("°c °c. degres degre", Unit("°C", Kind.TEMPERATURE))
_add("bar bars", Unit("bar", Kind.OTHER))

_SCALED = {"k": _THOUSAND, "millier": _THOUSAND, "mille": _THOUSAND, "million": _MILLION,
           "milliard": _MILLIARD, "thousand": _THOUSAND, "billion": _MILLIARD}
_NAMES_FOR_ALL = re.compile(r"\(|\b(?:en|in) |, ")
_WORD = re.compile(r"[^\s.,;:()|'\u00b7]{1,24}")
_LINK = re.compile(r"\s?(?:d'|d[eu]\s|of\s|\s)?")
WORDS_MAX = 3
_SIGN = re.compile(r"(?:k|md|mds|m)?[€£$](?![€£$])|[^\W\d_]{1,12}[²³]?(?=/)")
"""The unit that a token begins with: « €HT », « €/m² », « km/h »."""
_LETTERS = {"k": _THOUSAND, "m": _MILLION, "mn": _MILLION, "bn": _MILLIARD, "b": _MILLIARD}
_LETTER = re.compile(r"\s?(?P<letters>k|mn|m|bn|b)\b(?!/)")
_TAX = re.compile(
    r"\s?(?P<tax>ht|ttc|hors taxes?|toutes taxes comprises|bruts?|brutes?|nette?s?|nets?)\b"
)
_PER = re.compile(
    r"(?:\s?/\s?|\s(?:par|per|a la|a l'|la|le|each)\s|\sl')(?P<per>[^\W\d_][^\s.,;:()|]{0,23})|"
    r"\sa (?P<a>month|year|day|week|night|person|mois|an)\b"
)
_PERS = {"annee": "an", "month": "mois", "year": "an", "day": "jour", "hour": "heure", "week": "semaine",
         "night": "nuit", "person": "personne"}
_NO_PERS = frozenset(["la", "le", "les", "un", "une", "the", "a", "l'", "son", "sa", "leur", "chaque"])


def unit_named(name: str) -> Unit | None:
    """Return the unit that a name or sign stands for, in folded text."""
    return _UNITS.get(name)


def unit_at(plain: str, place: int) -> tuple[Unit, str, int] | None:
    """Return the unit that stands at a place of folded text, the scale word before it, and where both end."""
    scale, start = "", place
    word = _WORD.match(plain, place)
    if word is not None and word.group().rstrip("s") in _SCALED and len(word.group()) > 1:
        scale = word.group().rstrip("s")
        link = _LINK.match(plain, word.end())
        assert link is not None
        start = link.end()
    ends: list[int] = []
    at = start
    while len(ends) < WORDS_MAX and (part := _WORD.match(plain, at)) is not None:
        ends.append(part.end())
        at = part.end() + 1 if plain[part.end() : part.end() + 1] == " " else len(plain) + 1
    for end in reversed(ends):
        if (unit := _UNITS.get(plain[start:end])) is not None:
            return unit, scale, end
    sign = _SIGN.match(plain, start)
    if sign is not None and (unit := _UNITS.get(sign.group())) is not None:
        return unit, scale, sign.end()
    return (NONE, scale, word.end()) if scale and word is not None else None


def letter_at(plain: str, place: int) -> tuple[Decimal, int] | None:
    """Return what a letter behind an amount with its currency before it multiplies by: « $15k », « £2.5m »."""
    match = _LETTER.match(plain, place)
    return None if match is None else (_LETTERS[match.group("letters")], match.end())


def qualified(unit: Unit, plain: str, place: int) -> tuple[Unit, int]:
    """Return a unit with what stands behind it, « HT », « par mois », « la séance », and where that ends."""
    tax = _TAX.match(plain, place)
    at = place if tax is None else tax.end()
    per = _PER.match(plain, at)
    name = "" if per is None else per.group("per") or per.group("a")
    said = "" if tax is None else {"h": "HT", "t": "TTC", "b": "brut", "n": "net"}[tax.group("tax")[0]]
    if per is None or name in _NO_PERS:
        return (replace(unit, qualifier=said), at) if said else (unit, place)
    bare = name.rstrip("*")
    return replace(unit, qualifier=f"/{_PERS.get(bare, bare)}{said and ' '}{said}"), per.end()


def is_scale(word: str) -> bool:
    """Return whether a word multiplies: « millions »."""
    return len(word) > 1 and word.rstrip("s") in _SCALED


def unit_of_header(header: str) -> Unit | None:
    """Return the unit that a table's column or caption names for all figures: « Coût (€) », « en milliers d'euros »."""
    plain = fold_in_place(" ".join(header.replace("’", "'").split()))
    units = set()
    for match in _NAMES_FOR_ALL.finditer(plain):
        found = unit_at(plain, match.end())
        if found is not None and found[0] is not NONE:
            units.add(qualified(scaled_unit(found[0], found[1]), plain, found[2])[0])
    return units.pop() if len(units) == 1 else None


def scaled_unit(unit: Unit, scale: str) -> Unit:
    """Return the unit that figures « en milliers d'euros » are in."""
    if unit.kind is not Kind.MONEY or not scale:
        return unit
    factor = _SCALED[scale]
    letter = {_THOUSAND: "k", _MILLION: "M", _MILLIARD: "Md"}[factor]
    return Unit(f"{letter}{unit.symbol}", Kind.MONEY, unit.symbol, factor)


def scale_of(word: str) -> Decimal:
    """Return what a word such as « million » multiplies by."""
    return _SCALED[word.rstrip("s")]
