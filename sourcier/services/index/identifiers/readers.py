"""From what a recogniser matched to its normal form, or to nothing where it is no identifier after all."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping

from sourcier.services.index.identifiers.checksums import (
    IBAN_LENGTHS,
    gtin,
    isbn_10,
    isbn_13_of,
    luhn,
    mod_97,
)
from sourcier.services.index.identifiers.identifier import Reading, groups_of, normal_form, without_separators
from sourcier.services.index.language.stop_words import STOP_WORDS, fold

Reader = Callable[[re.Match[str]], Reading | None]

LABEL_CHARACTERS = 24
"""How far before a number its label is looked for."""
SURE_DIGITS = 7
"""Numbers of so many digits identify something even without a label; shorter ones count things, too."""
CODE_CHARACTERS_MIN = 3
GROUPS_MAX = 10
"""Runs of one code; what has more is a list, or a path."""
PART_DIGITS_MIN = 4
"""Digits with which a code is found without the letters that it begins with."""

ARTICLE_LABELS = ("article", "articles", "art.", "art")
COMPANY_LABELS = ("siren", "siret", "rcs", "entreprise", "societe", "immatriculee", "immatricule", "tva")
UNITS = re.compile(
    r" ?(?:€|\$|£|%|k€|m€|euros?\b|eur\b|dollars?\b|francs?\b|km\b|m[²2]?\b|kg\b|tonnes?\b|habitants?\b|personnes?\b|"
    r"salaries\b|heures?\b|jours?\b|ans?\b|annees?\b|mois\b|millions?\b|milliards?\b)"
)
"""What makes a number a quantity."""
_QUANTITY = re.compile(
    r"\d+(?:[.,]\d+)?(?:er|re|e|eme|nd|nde|st|th|rd|h|h\d\d|min|mn|s|ms|km|m|cm|mm|m2|m3|kg|g|mg|t|l|cl|ml|ha|w|kw|kwh|"
    r"mw|v|a|ko|mo|go|to|k|ke|me|x|px|pt|j|ans|eur|euros|px)"
)
"""Ordinals, times, and quantities with their unit: `2e`, `14h30`, `100km`."""
_COMPOUND_YEAR = re.compile(r"[a-z]+-(?:1[5-9]|20)\d\d")
"""`mi-2024`, `après-1945`."""
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_YEARS_OR_MONTH = re.compile(r"(?:(?:1[5-9]|20)\d\d[-/](?:(?:1[5-9]|20)\d\d|\d\d)|\d\d?[-/](?:1[5-9]|20)\d\d)")
_LABEL = re.compile(
    r"(?<![^\W_])(?P<label>[a-z]{1,12}+\.?)(?: postal| client)?(?P<sign>°| ?(?:n°|no\b|numero|n\.))? ?(?:: ?|\(ue\) )?$"
)
_SUFFIXES = (
    "pdf doc docx docm odt rtf txt md xls xlsx xlsm ods csv tsv ppt pptx odp htm html xml json yaml yml eml msg zip "
    "epub jpg jpeg png tif tiff gif svg mp3 mp4 wav m4a ogg flac p7m dwg log sql py"
)
FILE_SUFFIXES = frozenset(_SUFFIXES.split())
_MONTHS = {
    name: number for names in (
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        "january february march april may june july august september october november december",
    ) for number, name in enumerate(names.split(), start=1)
}
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_ROMAN_FORM = re.compile(r"(?:C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_STOP_WORDS = frozenset(fold(word) for words in STOP_WORDS.values() for word in words)
LABELS: Mapping[str, str] = {
    name: label
    for label, names in {
        "article": "article articles art art.", "annexe": "annexe annexes annex", "titre": "titre",
        "chapitre": "chapitre chapter", "lot": "lot lots batch", "compte": "compte comptes account",
        "facture": "facture factures invoice", "commande": "commande commandes order", "contrat": "contrat contract",
        "dossier": "dossier dossiers case", "devis": "devis quote", "bon": "bon", "ticket": "ticket",
        "reference": "reference references ref ref. reference:", "loi": "loi law", "decret": "decret decree",
        "ordonnance": "ordonnance", "arrete": "arrete", "circulaire": "circulaire", "directive": "directive",
        "reglement": "reglement regulation", "deliberation": "deliberation", "decision": "decision", "avis": "avis",
        "avenant": "avenant", "marche": "marche", "matricule": "matricule", "client": "client", "poste": "poste",
        "procedure": "procedure", "note": "note", "formulaire": "formulaire form cerfa", "cerfa": "cerfa",
        "postal": "code postal cp postcode", "serie": "serie serial", "version": "version",
        "n": "numero number n° no n. nr",
    }.items() for name in names.split()
}
"""What stands before a number and says what it numbers, with the words that say the same."""


def email(match: re.Match[str]) -> Reading | None:
    """Read an address; case says nothing."""
    return Reading((match[0].lower(),))


def file_name(match: re.Match[str]) -> Reading | None:
    """Read a file's name by its suffix; without it, it may stand in a title."""
    stem, _, suffix = match[0].rpartition(".")
    if suffix.lower() not in FILE_SUFFIXES or not any(character.isalpha() for character in stem):
        return None
    name = normal_form(stem)
    return Reading((f"{name}.{suffix.lower()}",), parts=(name,)) if name else None


def iban(match: re.Match[str]) -> Reading | None:
    """Read as many characters as the country has; the check digits decide only where letters stand in it.

    People mistype and invent: a number of the right length is looked for as it is.
    """
    length = IBAN_LENGTHS.get(match[0][:2].upper())
    if length is None:
        return None
    account, end = "", match.start()
    while end < match.end() and len(account) < length:
        account += match.string[end].strip(" -").upper()
        end += 1
    following = match.string[end : end + 1]
    if len(account) < length or following.isalnum():
        return None
    if sum(character.isalpha() for character in account[4:]) > 1 and not mod_97(account):
        return None
    return Reading((normal_form(account),) if account[2:].isdigit() else (account.lower(),))


def french_phone(match: re.Match[str]) -> Reading | None:
    """Read nine digits behind 0 or +33."""
    return Reading(("0" + _digits(match[0])[-9:],))


def foreign_phone(match: re.Match[str]) -> Reading | None:
    """Read a number with its country's code."""
    return Reading(("+" + _digits(match[0]),))


def establishment(match: re.Match[str]) -> Reading | None:
    """Read a SIRET; its first nine digits are the SIREN."""
    digits = _digits(match[0])
    return Reading((digits,), parts=(digits[:9],))


def company(match: re.Match[str]) -> Reading | None:
    """Read a SIREN: nine digits in groups are also an amount, so a label or the check digit decides."""
    digits = _digits(match[0])
    if _is_quantity(match):
        return None
    return Reading((digits,), sure=luhn(digits) and _labelled(match, COMPANY_LABELS))


def vat(match: re.Match[str]) -> Reading | None:
    """Read a VAT number, of which the SIREN is a part."""
    code = match[0].replace(" ", "").lower()
    return Reading((normal_form(code),), parts=(code[-9:],))


def book(match: re.Match[str]) -> Reading | None:
    """Read an ISBN of either length, in thirteen digits."""
    number = re.sub("[ -]", "", match[0]).upper()
    if len(number) == 10 and isbn_10(number):
        return Reading((isbn_13_of(number), number.lower()))
    return Reading((number,)) if len(number) == 13 and number.isdigit() and gtin(number) else None


def bar_code(match: re.Match[str]) -> Reading | None:
    """Read a bar code in groups, which its check digit tells from other numbers."""
    digits = _digits(match[0])
    return Reading((digits,), sure=len(digits) > 8) if gtin(digits) else None


def digital_date(match: re.Match[str]) -> Reading | None:
    """Read a date in digits, the day first or the year first."""
    first, month, last = re.findall(r"\d+", match[0])
    return _date(first, month, last) if len(first) == 4 else _date(last, month, first)


def worded_date(match: re.Match[str]) -> Reading | None:
    """Read a date whose month is a word."""
    month = _MONTHS.get(fold(match["month"].casefold()))
    return None if month is None else _date(match["year"], str(month), match["day"])


def code_article(match: re.Match[str]) -> Reading | None:
    """Read an article of a code: `L. 1121-1`; its number alone is part of it."""
    letter, number = match["letter"], re.sub("[ .]", "-", match["number"])
    dotted = "." in match["between"]
    labelled = dotted or _labelled(match, ARTICLE_LABELS)
    if "-" not in number and not (labelled and letter.isupper()):
        return None
    joined_or_upper = letter.isupper() or not match["between"]
    if not labelled and (len(number) < 4 or letter in ("a", "A") or not (joined_or_upper or letter in ("l", "r"))):
        return None
    parts = (number,) if "-" in number or len(number) > 2 else ()
    return Reading((f"{letter.lower()}-{number}",), parts=parts)


def organic_article(match: re.Match[str]) -> Reading | None:
    """Read an article of an organic law."""
    return Reading((f"lo-{match['number']}",), parts=(match["number"],))


def roman(match: re.Match[str]) -> Reading | None:
    """Read a numbered part whose number is Roman; `L` and `C` alone are letters."""
    number = match["number"].upper()
    if number in ("L", "C") or _ROMAN_FORM.fullmatch(number) is None:
        return None
    values = [_ROMAN[character] for character in number]
    total = sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))
    return Reading((f"{LABELS[fold(match['label'].lower())]}-{total}",), sure=False)


def labelled(match: re.Match[str]) -> Reading | None:
    """Read a number with its label: alone where it would identify without one, else together with it."""
    before = _LABEL.search(_before(match))
    label = None if before is None else LABELS.get(before["label"]) or ("n" if before["sign"] else None)
    value = match["value"]
    if label is None or UNITS.match(_rest(match)):
        return None
    if label == "version":
        return Reading((f"v-{normal_form(value)}",), parts=(normal_form(value),), sure=value.count(".") > 1)
    groups = groups_of(value)
    if (read := _law(label, groups)) is not None:
        return read
    if not value.isdigit() or len(value) >= 5:
        if len("".join(groups)) < CODE_CHARACTERS_MIN:
            return Reading((f"{label}-{normal_form(value)}",), sure=False)
        if value[0].isdigit() and value[-1].isalpha() and len(groups) == 2:
            return None if _QUANTITY.fullmatch(fold(value.lower())) else _code(value, sure=False)
        return _code(value, sure=len("".join(groups)) >= 4)
    sure = label == "n" and len(value) >= 4 and _YEAR.fullmatch(value) is None
    return Reading((f"{label}-{value.lstrip('0') or '0'}",), sure=sure)


def long_number(match: re.Match[str]) -> Reading | None:
    """Read digits that stand alone: bar codes, accounts, registrations."""
    digits = match[0]
    if _is_quantity(match) or len(digits) > 34:
        return None
    forms, parts = [digits], []
    if len(digits) == 12 and gtin(digits):
        forms.append("0" + digits)
    if len(digits) == 13 and digits.startswith("0") and gtin(digits):
        forms.append(digits[1:])
    if len(digits) == 10 and isbn_10(digits):
        forms.append(isbn_13_of(digits))
    if len(digits) == 11 and digits.startswith("33"):
        forms.append("0" + digits[2:])
    if len(digits) == 8 and (date := _date(digits[:4], digits[4:6], digits[6:])) is not None:
        forms.extend(date.forms)
    if len(digits) == 14:
        parts.append(digits[:9])
    return Reading(tuple(forms), sure=len(digits) >= SURE_DIGITS, parts=tuple(parts))


def dashed_number(match: re.Match[str]) -> Reading | None:
    """Read runs of digits with dashes or slashes; years, months, ranges and fractions are none."""
    number = match[0]
    groups = groups_of(number)
    digits = sum(map(len, groups))
    if _YEARS_OR_MONTH.fullmatch(number) or _is_quantity(match) or digits < 4:
        return None
    ranges = len(groups) == 2 and len(groups[0]) == len(groups[1]) and int(groups[0]) < int(groups[1])
    return _code(number, sure=digits >= 5 and not ranges)


def dotted_number(match: re.Match[str]) -> Reading | None:
    """Read a version or a section: three runs of digits and more."""
    return _code(match[0], sure=False)


def spaced_code(match: re.Match[str]) -> Reading | None:
    """Read capitals and digits apart: `PX 1200 B`, `AB 123 CD`; the letter behind may begin the next words."""
    runs = re.split("([ /-])", match[0])
    while (word := fold(runs[0].lower())) in _STOP_WORDS or word in LABELS or word in _MONTHS:
        runs = runs[2:]
    value = "".join(runs)
    if value[0].isdigit() and not match[0][0].isdigit():
        return None
    number = "".join(run for run in runs if run.isdigit())
    ended = value[-1].isalpha() or _YEAR.fullmatch(number) is None
    return _code(value, sure=value.isupper() and len(number) >= 3 and ended)


def code(match: re.Match[str]) -> Reading | None:
    """Read letters and digits that are joined, or that signs join."""
    value = match[0].strip("-/._")
    if not any(character.isalpha() for character in value):
        return None
    folded = fold(value.casefold())
    if _QUANTITY.fullmatch(folded) or _COMPOUND_YEAR.fullmatch(folded):
        return None
    digits = sum(character.isdigit() for character in value)
    letters = [group for group in groups_of(value) if not group.isdigit()]
    size = digits + sum(map(len, letters))
    if digits == 0 or size < CODE_CHARACTERS_MIN or size > 48:
        return None
    # Long words in lower case are words that a number happens to be joined to.
    worded = any(len(word) > 5 for word in letters) and not value.isupper()
    return _code(value, sure=digits >= 3 and size >= 5 and not worded and not value[0].isdigit())


def _code(value: str, *, sure: bool) -> Reading | None:
    groups = groups_of(value)
    if not groups or len(groups) > GROUPS_MAX:
        return None
    # Without the letters that it begins with, one by one: `EN 13501-1` and `13501-1` of `NF EN 13501-1`.
    words = next((place for place, group in enumerate(groups) if group.isdigit()), 0)
    digits = sum(len(group) for group in groups if group.isdigit())
    parts = tuple("-".join(groups[place:]) for place in range(1, words + 1)) if digits >= PART_DIGITS_MIN else ()
    return Reading(("-".join(groups),), sure=sure, parts=parts, joined=without_separators(value))


def _law(label: str, groups: list[str]) -> Reading | None:
    """Read `78-17` of a law as `1978-17`, too."""
    if label not in ("loi", "decret", "ordonnance") or len(groups) != 2 or not all(map(str.isdigit, groups)):
        return None
    year, number = groups
    if len(year) == 2 and int(year) >= 45:
        return Reading((f"19{year}-{number}", f"{year}-{number}"))
    return Reading((f"{year}-{number}",))


def _date(year: str, month: str, day: str) -> Reading | None:
    if len(year) == 2:
        year = ("20" if int(year) < 70 else "19") + year
    if not 1800 <= int(year) <= 2199:
        return None
    try:
        date = datetime.date(int(year), int(month), int(day))
    except ValueError:
        return None
    return Reading((date.isoformat(), date.strftime("%Y%m%d")), sure=False)


def _labelled(match: re.Match[str], labels: tuple[str, ...]) -> bool:
    words = _before(match).replace(":", " ").replace("n°", " ").replace("(", " ").split()
    return any(word.rsplit("'", 1)[-1] in labels for word in words[-2:]) if len(labels) > 4 else (
        bool(words) and words[-1].rsplit("'", 1)[-1] in labels
    )


def _is_quantity(match: re.Match[str]) -> bool:
    return UNITS.match(_rest(match)) is not None


def _before(match: re.Match[str]) -> str:
    return fold(match.string[max(match.start() - LABEL_CHARACTERS, 0) : match.start()].casefold())


def _rest(match: re.Match[str]) -> str:
    return fold(match.string[match.end() : match.end() + LABEL_CHARACTERS].casefold())


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
