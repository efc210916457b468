"""Per what an amount is told: « par mois », « annuel », « par personne »; and if before tax, gross or net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, has
from sourcier.services.gateway.figures.words import forms_of, told

_RATES: Mapping[str, str] = {
    word: rate for rate, words in {
        "day": "jour jours journee journalier journaliere quotidien quotidienne day daily",
        "week": "semaine semaines hebdomadaire week weekly weeks",
        "month": "mois mensuel mensuelle mensuels mensuelles mensuellement month monthly months",
        "quarter": "trimestre trimestriel trimestrielle quarter quarterly", "term": "term",
        "half": "semestre semestriel semestrielle",
        "year": "an ans annee annuel annuelle annuels annuelles annuellement year yearly annual annually annum",
        "hour": "heure horaire hour hourly", "night": "nuit nuitee night",
    }.items() for word in words.split()
}
_PER = frozenset({"par", "per", "chaque", "each", "every", "/"})
_PER_ENGLISH = frozenset({"a", "an"})
_ADJECTIVES = frozenset(
    word for word in _RATES
    if word.endswith(("el", "elle", "els", "elles", "ly", "ier", "iere", "ien", "ienne", "aire", "annual", "ment"))
)
_HEADS = lexicon.words(
    "personne convive tete head person guest invite participant usager habitant adulte enfant agent salarie eleve "
    "adherent joueur passager occupant locataire visiteur employee member"
)
_GROUPS = lexicon.words(
    "famille familles foyer foyers menage menages couple couples groupe groupes logement logements classe classes lot "
    "lots household households family families group groups flat flats"
)
_TAXES: Mapping[str, lexicon.Phrases] = {
    "net of tax": lexicon.phrases("ht|hors taxe|hors taxes|excluding vat|plus vat|before tax|excl vat|before vat"),
    "with tax": lexicon.phrases("ttc|toutes taxes comprises|taxes comprises|including vat|with vat|incl vat"),
    "gross": lexicon.phrases("brut|brute|bruts|brutes|gross"),
    "net": lexicon.phrases("net|nets|nette|nettes"),
}
_OPPOSITE: Mapping[str, str] = {"net of tax": "with tax", "with tax": "net of tax", "gross": "net", "net": "gross"}
BEHIND_TOKENS_MAX = 8
QUALIFIER_TOKENS_MAX = 4


def rates_in(tokens: Sequence[Token]) -> frozenset[str]:
    """Return per what times a text speaks: « par jour », « annuel »."""
    return frozenset(
        _RATES[token.text] for place, token in enumerate(tokens) if token.text in _RATES and (
            token.text in _ADJECTIVES or (place and tokens[place - 1].text in _PER | _PER_ENGLISH)
            or (place > 1 and tokens[place - 1].text in ("calendar", "school") and tokens[place - 2].text in _PER)
        )
    )


def _is_amount(token: Token) -> bool:
    return token.tells and any(form[0].isdecimal() for form in token.forms)


def rates_behind(tokens: Sequence[Token]) -> frozenset[str]:
    """Return per what times an amount is told that stands before these tokens, up to the next amount."""
    ends = (at for at, token in enumerate(tokens) if at and (_is_amount(token) or token.text in ",;("))
    return rates_in(tokens[: min(next(ends, len(tokens)), BEHIND_TOKENS_MAX)])


def is_per_head(tokens: Sequence[Token]) -> bool:
    """Return whether the tokens behind an amount tell it for each person."""
    return any(
        token.text in _HEADS and place and tokens[place - 1].text in _PER
        for place, token in enumerate(tokens[:BEHIND_TOKENS_MAX])
    )


def names_heads(tokens: Sequence[Token]) -> bool:
    """Return whether something is told of persons one by one."""
    return any(token.text.rstrip("s") in _HEADS for token in tokens)


def names_a_group(tokens: Sequence[Token]) -> bool:
    """Return whether something is told of several persons as one: « la famille »."""
    return any(token.text in _GROUPS for token in tokens)


def taxes_in(tokens: Sequence[Token]) -> frozenset[str]:
    """Return what is told of tax: before it or with it, gross or net."""
    return frozenset(
        name for name, table in _TAXES.items() if has(tokens, table)
    )


def is_other_tax(said: Sequence[Token], given: Sequence[Token], value: Sequence[Token]) -> bool:
    """Return whether a clause gives a value before tax that a sentence gives with it, or the other way; net and gross.

    What stands behind the value goes before what stands elsewhere in its clause.
    """
    wanted = taxes_in(said)
    if len(wanted) != 1:
        return False
    [one] = wanted
    forms = forms_of(value)
    found = False
    for place, token in enumerate(given):
        if not _is_amount(token) or not told(token, forms):
            continue
        behind = given[place + 1 : place + 1 + QUALIFIER_TOKENS_MAX]
        end = next((at for at, each in enumerate(behind) if _is_amount(each) or each.text in ",;()"), len(behind))
        near = taxes_in(behind[:end]) or (taxes_in(given) if len(taxes_in(given)) == 1 else frozenset())
        if _OPPOSITE[one] not in near or one in near:
            return False
        found = True
    return found
