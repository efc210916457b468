"""Changes that make of a supported sentence a reworded one, or one that its passage does not support.

All are rules, so that the sets are the same in every run; what they cannot reach (a paraphrase, an invention) is in the
hand-written set beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random

from sourcier.services.gateway.evidence.negation import denies
from sourcier.services.index.language.stop_words import fold

SYNONYMS: Mapping[str, str] = {
    "mais": "toutefois", "pendant": "durant", "afin de": "pour", "ainsi que": "et aussi", "grâce à": "au moyen de",
    "environ": "à peu près", "cependant": "néanmoins", "notamment": "en particulier", "surtout": "avant tout",
    "souvent": "fréquemment", "parfois": "quelquefois", "très": "particulièrement", "plusieurs": "quelques",
    "également": "aussi", "aussi": "également", "à cause de": "en raison de", "en raison de": "à cause de",
    "car": "parce que", "lorsque": "quand", "lorsqu'": "quand ", "puis": "ensuite", "ensuite": "puis", "depuis": "dès",
    "la plupart": "la majorité", "la majorité": "la plupart", "création": "fondation", "fondé": "créé", "créé": "fondé",
    "fondée": "créée", "créée": "fondée", "fonde": "crée", "débute": "commence", "commence": "débute",
    "commencé": "débuté", "permet": "donne la possibilité", "utilise": "emploie", "utilisé": "employé",
    "utilisée": "employée", "utilisés": "employés", "important": "majeur", "importante": "majeure",
    "importants": "majeurs", "grand": "vaste", "grande": "vaste", "premier": "tout premier", "habite": "vit",
    "obtient": "reçoit", "reçoit": "obtient", "meurt": "décède", "mort": "décès", "devient": "est désormais",
    "possède": "a", "constitue": "forme", "représente": "constitue", "compte": "comprend", "comprend": "compte",
    "écrit": "rédige", "publie": "fait paraître", "publié": "paru", "publiée": "parue", "situé": "placé",
    "située": "placée", "travail": "labeur", "guerre": "conflit", "ville": "cité", "pays": "État", "roi": "souverain",
    "population": "nombre d'habitants", "augmente": "croît", "diminue": "baisse", "montre": "indique",
    "montrent": "indiquent", "développement": "essor", "début": "commencement", "fin": "terme", "année": "an",
    "années": "ans", "nommé": "appelé", "nommée": "appelée", "appelé": "nommé", "appelée": "nommée",
    "but": "objectif", "façon": "manière", "manière": "façon", "partie": "part", "rôle": "fonction",
    "considéré": "vu", "considérée": "vue", "nombreux": "beaucoup de", "nombreuses": "beaucoup de",
    "selon": "d'après", "d'après": "selon", "ancien": "vieux", "ancienne": "vieille", "nouveau": "récent",
    "nouvelle": "récente", "dirige": "conduit", "chef": "dirigeant", "film": "long-métrage", "livre": "ouvrage",
    "ouvrage": "livre", "raison": "motif", "groupe": "ensemble", "enfants": "jeunes", "femme": "dame",
    "hommes": "individus",
}
"""What says about the same in place of what stands there."""

ANTONYMS: Mapping[str, str] = {
    "plus": "moins", "moins": "plus", "avant": "après", "après": "avant", "premier": "dernier", "première": "dernière",
    "dernier": "premier", "dernière": "première", "grand": "petit", "grande": "petite", "grands": "petits",
    "grandes": "petites", "petit": "grand", "petite": "grande", "augmente": "diminue", "diminue": "augmente",
    "augmentation": "diminution", "diminution": "augmentation", "hausse": "baisse", "baisse": "hausse",
    "victoire": "défaite", "défaite": "victoire", "nord": "sud", "sud": "nord", "est favorable": "est opposé",
    "autorisé": "interdit", "interdit": "autorisé", "ancien": "nouveau", "ancienne": "nouvelle", "nouveau": "vieux",
    "toujours": "jamais", "jamais": "toujours", "riche": "pauvre", "riches": "pauvres", "pauvre": "riche",
    "fort": "faible", "forte": "faible", "faible": "forte", "gagne": "perd", "perd": "gagne", "accepte": "refuse",
    "refuse": "accepte", "naissance": "mort", "mort": "naissance", "début": "fin", "fin": "début",
    "supérieur": "inférieur", "supérieure": "inférieure", "inférieur": "supérieur", "positif": "négatif",
    "rapide": "lent", "rapidement": "lentement", "homme": "femme", "femme": "homme", "hommes": "femmes",
    "femmes": "hommes", "père": "mère", "mère": "père", "public": "privé", "privé": "public", "majorité": "minorité",
    "difficile": "facile", "facile": "difficile", "meilleur": "pire", "meilleure": "pire", "haut": "bas",
    "jeune": "vieux", "paix": "guerre", "guerre": "paix", "souvent": "rarement", "rarement": "souvent",
}


def _words(table: Mapping[str, str]) -> dict[re.Pattern[str], str]:
    """Return what stands for each word of a table, by the pattern that finds it as a word of its own."""
    return {re.compile(rf"(?<![\w'’-]){re.escape(old)}(?![\w'’-])"): new for old, new in table.items()}


_SYNONYMS, _ANTONYMS = _words(SYNONYMS), _words(ANTONYMS)
_VERBS = (
    "est|sont|était|étaient|fut|furent|sera|seront|a|ont|avait|avaient|peut|peuvent|pouvait|doit|doivent|permet|"
    "permettent|devient|devint|représente|constitue|possède|compte|comprend|utilise|fait|font|reçoit|obtient|joue|"
    "existe|commence|reste|semble|prend|donne|montre"
)
_VERB = re.compile(rf"(?<![\w'’-])({_VERBS})(?![\w'’-])")
_PARENTHESIS = re.compile(r"\s*\([^()]*\)")
_TAIL = re.compile(r",\s+(?:qui|dont|où|ce qui|notamment|comme|ainsi que|puis|mais|et)\s[^,]*(?=\.$)")
_LEAD = re.compile(
    r"^((?:En|Dans|Au|Aux|À|Depuis|Pendant|Lors|Après|Avant|Sous|Pour|Selon|Dès|Vers|Sur|Par)\s[^,]{4,60}),\s+(.+?)\.$"
)
_INNER_CAPITAL = re.compile(r"(?<=[\w,;’'] )[A-ZÀ-Þ][a-zß-ÿ]+|(?<=[dl]['’])[A-ZÀ-Þ][a-zß-ÿ]+")
_PREFACES = ("D'après l'extrait, ", "Selon le document, ", "Le texte indique que ", "On apprend que ", "", "")
_OPENING = re.compile(
    r"(?:les?|la|l['’]|une?|des?|du|ce|cet|cette|ces|ils?|elles?|on|son|sa|ses|leurs?|aux?|en|dans|pour|sur|par|"
    r"plusieurs|certaine?s|depuis|après|avant|pendant|selon|d['’]|c['’]|plus|chaque|tous|toutes)\b", re.IGNORECASE,
)


def reword(sentence: str, random: Random) -> str:
    """Return a sentence that says the same in another order and partly in other words; empty where little changes."""
    text = _PARENTHESIS.sub("", sentence).strip()
    if random.random() < 0.5:
        text = _TAIL.sub("", text)
    moved = _LEAD.match(text)
    if moved is not None:
        lead, rest = moved.groups()
        text = f"{rest[0].upper()}{rest[1:]}, {lead[0].lower()}{lead[1:]}."
    changes = 0
    for pattern, new in _SYNONYMS.items():
        if changes < 3 and pattern.search(text):
            text = pattern.sub(new, text, count=1)
            changes += 1
    preface = random.choice(_PREFACES)
    if preface and _OPENING.match(text):
        elided = preface.endswith("que ") and text[0] in "AEIOUÀÉÊÎ"
        text = (preface[:-2] + "'" if elided else preface) + text[0].lower() + text[1:]
    return text if changes + bool(moved) >= 2 or (changes and text.split()[:2] != sentence.split()[:2]) else ""


def absent_number(sentence: str, passage: str, random: Random) -> str:
    """Return the sentence with a number whose digits the passage does not have; empty where it has none to change.

    What the passage has is told by its digits alone, not by the rules that are measured.
    """
    known = set(re.findall(r"\d+", passage))
    found = [*re.finditer(r"(?<![\w.,])\d+(?![\w.,]*\d)(?!\w)", sentence)]
    if not found:
        return ""
    match = random.choice(found)
    old = int(match.group())
    for _ in range(50):
        new = old + random.choice((-1, 1)) * random.randint(1, max(3, old // 10 if old > 99 else 9))
        if new > 0 and str(new) not in known:
            return f"{sentence[: match.start()]}{new}{sentence[match.end() :]}"
    return ""


def absent_name(sentence: str, passage: str, others: Sequence[str], random: Random) -> str:
    """Return the sentence with a name of another article in place of one of its own; empty where it has none."""
    own, names = inner_capitals(sentence), tuple(others)
    if not own:
        return ""
    known = _names_in(fold(passage.casefold()), names)
    able = [name for name, folded in zip(names, _folded(names), strict=True) if folded not in known]
    return _replaced(sentence, random.choice(own), random.choice(able)) if able else ""


# A set asks for one passage's names with each question about it, and for thousands of names with each.
@lru_cache(maxsize=1024)
def _names_in(passage: str, names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for name in set(_folded(names)) if name in passage)


@lru_cache(maxsize=1)
def _folded(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(fold(name.casefold()) for name in names)


def swapped_number(sentence: str, passage: str, random: Random) -> str:
    """Return the sentence with another number of its passage in place of one of its own."""
    own = re.findall(r"(?<![\w.,])\d+(?:[.,]\d+)?(?![\w])", sentence)
    others = [each for each in re.findall(r"(?<![\w.,])\d+(?:[.,]\d+)?(?![\w])", passage) if each not in own]
    if not own or not others:
        return ""
    old = random.choice(own)
    others = [each for each in others if (len(each) == 4) == (len(old) == 4)] or others
    return _replaced(sentence, old, random.choice(others))


def swapped_name(sentence: str, passage: str, random: Random) -> str:
    """Return the sentence with another name of its passage in place of one of its own."""
    own = inner_capitals(sentence)
    others = [name for name in inner_capitals(passage) if name not in own]
    return _replaced(sentence, random.choice(own), random.choice(others)) if own and others else ""


def negated(sentence: str) -> str:
    """Return the sentence with its first plain verb denied; empty where it denies something already or has none."""
    match = _VERB.search(sentence)
    if match is None or denies(sentence):
        return ""
    verb = match.group()
    particle = "n'" if verb[0] in "aeéêouàiy" else "ne "
    return f"{sentence[: match.start()]}{particle}{verb} pas{sentence[match.end() :]}"


def affirmed(sentence: str) -> str:
    """Return the sentence without its negation; empty where there is none to leave out."""
    changed = re.sub(r"\bn(?:e\s|['’])(\w+)\s(?:pas|jamais)\b", r"\1", sentence, count=1)
    return changed if changed != sentence else ""


def antonymised(sentence: str) -> str:
    """Return the sentence with one word turned into its opposite; empty where no word of the table stands in it."""
    for pattern, new in _ANTONYMS.items():
        if pattern.search(sentence):
            return pattern.sub(new, sentence, count=1)
    return ""


def inner_capitals(text: str) -> list[str]:
    """Return the capitalised words of three letters or more that no sentence begins with."""
    return [name for name in _INNER_CAPITAL.findall(text) if len(name) > 2]


def _replaced(sentence: str, old: str, new: str) -> str:
    return re.sub(rf"(?<![\w]){re.escape(old)}(?![\w])", new.replace("\\", ""), sentence, count=1)
