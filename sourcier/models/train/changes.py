"""Rules that make a sentence false, or say it otherwise: each returns None where it does not apply."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from sourcier.models.train.words import (
    CYCLES,
    DETERMINERS,
    LIMITS,
    OPPOSITES,
    PASTS,
    PLANS,
    PREFACES,
    SAME,
    TENSES,
    Tenses,
)

Change = Callable[[str, str, Random], str | None]
"""Of a sentence, beside the text around it: names and figures are taken from there."""

_WORD = re.compile(r"[^\W\d_]+(?:['’])?|\d+")
_DENIED = re.compile(r"\b(?:ne\s|n['’])(\w++(?:['’ ]\w++){0,2}?)\s(?:pas|plus|jamais)\b")
_DENIES = re.compile(r"\b(?:ne\s|n['’]|aucune?\b|jamais\b|sans\b|interdit|pas\b)", re.IGNORECASE)
_NONE = re.compile(r"\b([Aa])ucun(e?)\b")
_CLITICS = re.compile(r"(?:(?:se|me|lui|leur|y|en|nous)\s|s['’]|l['’])$")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\w])|(?<![\w.,-])\d+(?:[.,]\d+)?(?![\w-])")
_NAME = re.compile(r"(?<=[\w,;’'] )[A-ZÀ-Þ][a-zß-ÿ]{2,}(?:[ -][A-ZÀ-Þ][a-zß-ÿ]+)*")
_PARENTHESIS = re.compile(r"(?<!\s)\s*+\([^()]*+\)")
_TAIL = re.compile(r",\s+(?:notamment|comme|par exemple|en particulier)\s[^,]*(?=\.$)")
_LEAD = re.compile(r"^((?:En|Dans|Au|Aux|À|Depuis|Pendant|Lors|Après|Avant|Sous|Pour|Dès)\s[^,]{4,60}),\s+(.+?)(\.?)$")
_END = re.compile(r"\s(à compter|à partir|en cas|dans un délai|au titre|pendant|après|avant|en) ([^,.]{4,50})\.$")
_APOSTROPHES = ("'", "’")
_VOWELS = "aeiouyéèêàhAEIOUÉ"
_ELISION = re.compile(r"\b(d)e (?=[aeiouyéèêàh])")
_OPENING = re.compile(
    r"(?:les?|la|l['’]|une?|des?|du|ce|cette|ces|cet|ils?|elles?|on|son|sa|ses|leurs?|vous|chaque|tous|toutes|si|en|pour|"
    r"dans|au|aux|lorsque|certains)(?![\w])", re.IGNORECASE,
)


def verbs(sentence: str) -> list[tuple[re.Match[str], Tenses]]:
    """Return the words that are a known verb in the present and no noun, first ones first."""
    found, before = [], ""
    for word in _WORD.finditer(sentence):
        tenses = TENSES.get(word[0])
        if tenses is not None and before.lower().replace("’", "'") not in DETERMINERS and word.start() > 0:
            found.append((word, tenses))
        before = word[0]
    return found


def denied(sentence: str, _: str, random: Random) -> str | None:
    """Deny the first verb, or one of the first two."""
    found = [] if _DENIES.search(sentence) else verbs(sentence)[:2]
    if not found:
        return None
    word, _tenses = random.choice(found[:1] * 3 + found[1:])
    clitic = _CLITICS.search(sentence, 0, word.start())
    start = clitic.start() if clitic is not None else word.start()
    particle = "n'" if sentence[start] in "aeéêiouyà" else "ne "
    negation = random.choice(("pas", "pas", "pas", "plus", "jamais"))
    return f"{sentence[:start]}{particle}{sentence[start : word.end()]} {negation}{sentence[word.end() :]}"


def affirmed(sentence: str, _: str, __: Random) -> str | None:
    """Take a denial away."""
    changed = _DENIED.sub(lambda match: match[1], sentence, count=1)
    if changed == sentence:
        changed = _NONE.sub(lambda match: ("U" if match[1] == "A" else "u") + "n" + match[2], sentence, count=1)
        changed = re.sub(r"\bne\s|\bn['’]", "", changed, count=1) if changed != sentence else changed
    return changed if changed != sentence else None


def opposed(sentence: str, _: str, random: Random) -> str | None:
    """Put the opposite in the place of a word or two."""
    pairs = [*OPPOSITES, *((second, first) for first, second in OPPOSITES)]
    return _replaced_by_one(sentence, pairs, random)


def of_another_kind(sentence: str, _: str, random: Random) -> str | None:
    """Put another weekday, month, number, unit, group in the place of one."""
    choices = [
        (word, random.choice([other for other in cycle if other != word]))
        for cycle in CYCLES for word in cycle if _place(sentence, word) >= 0
    ]
    if not choices:
        return None
    old, new = random.choice(choices)
    return _replaced(sentence, old, new)


def other_figure(sentence: str, around: str, random: Random) -> str | None:
    """Put another figure in the place of one: one of the text around it, or one that is near."""
    own = [*_NUMBER.finditer(sentence)]
    if not own:
        return None
    chosen = random.choice(own)
    others = [each[0] for each in _NUMBER.finditer(around) if each[0] not in {one[0] for one in own}]
    alike = [each for each in others if len(each) == len(chosen[0])] or others
    new = random.choice(alike) if alike and random.random() < 0.6 else _near(chosen[0], random)
    return f"{sentence[: chosen.start()]}{new}{sentence[chosen.end() :]}" if new != chosen[0] else None


def other_name(sentence: str, around: str, random: Random) -> str | None:
    """Put another name of the text around it in the place of one."""
    own = _NAME.findall(sentence)
    others = [name for name in _NAME.findall(around) if name not in sentence]
    return _replaced(sentence, random.choice(own), random.choice(others)) if own and others else None


def planned(sentence: str, _: str, random: Random) -> str | None:
    """Tell what is as what will or might be."""
    found = [] if _DENIES.search(sentence) else verbs(sentence)[:1]
    if not found or not _OPENING.match(sentence):
        return None
    word, tenses = found[0]
    preface = random.choice([*PLANS, "", ""])
    tense = tenses.conditional if "projet" in preface or (not preface and random.random() < 0.5) else tenses.future
    return _prefaced(preface, f"{sentence[: word.start()]}{tense}{sentence[word.end() :]}")


def past(sentence: str, _: str, random: Random) -> str | None:
    """Tell what is as what was."""
    found = [] if _DENIES.search(sentence) else verbs(sentence)[:1]
    if not found or not _OPENING.match(sentence):
        return None
    word, tenses = found[0]
    changed = f"{sentence[: word.start()]}{tenses.imperfect}{sentence[word.end() :]}"
    return _prefaced(random.choice(PASTS), changed)


def limited(sentence: str, random: Random) -> str:
    """Add what nothing says: an exception, a condition, an amount."""
    end = len(sentence) - sentence.endswith((".", ";"))
    return f"{sentence[:end]}{random.choice(LIMITS)}{sentence[end:]}"


FALSE: Sequence[tuple[Change, float]] = (
    (denied, 3.0), (affirmed, 3.0), (opposed, 3.0), (of_another_kind, 2.0), (other_figure, 3.0), (other_name, 2.5),
    (planned, 1.8), (past, 0.7),
)
"""Each makes a sentence that its passage contradicts, with how often it is tried."""


def falsified(sentence: str, around: str, random: Random) -> tuple[str, str] | None:
    """Return a sentence that says otherwise and the name of the rule; None where no rule applies."""
    rules = [*FALSE]
    while rules:
        rule, weight = random.choices(rules, [weight for _, weight in rules])[0]
        changed = rule(sentence, around, random)
        if changed is not None and changed != sentence:
            return changed, rule.__name__
        rules.remove((rule, weight))
    return None


def reworded(sentence: str, random: Random) -> str:
    """Say about the same in another order and partly in other words; the sentence itself where nothing applies."""
    text = _PARENTHESIS.sub("", sentence) if random.random() < 0.7 else sentence
    text = _TAIL.sub("", text) if random.random() < 0.5 else text
    lead, end = _LEAD.match(text), _END.search(text)
    if lead is not None and random.random() < 0.6:
        text = f"{lead[2][0].upper()}{lead[2][1:]}, {lead[1][0].lower()}{lead[1][1:]}{lead[3]}"
    elif end is not None and _OPENING.match(text) and random.random() < 0.4:
        part = f"{end[1]} {end[2]}"
        text = f"{part[0].upper()}{part[1:]}, {text[0].lower()}{text[1 : end.start()]}."
    for _ in range(random.choice((0, 1, 2, 3))):
        text = _replaced_by_one(text, SAME, random) or text
    if random.random() < 0.12:
        text = _prefaced(random.choice(PREFACES), text) if _OPENING.match(text) else text
    return text


def _prefaced(preface: str, text: str) -> str:
    if not preface:
        return text
    elided = preface.endswith("que ") and text[0] in "AEIOUÀÉÊÎ"
    joined = (preface[:-2] + "'") if elided else preface
    return joined + text[0].lower() + text[1:]


def _near(figure: str, random: Random) -> str:
    digits = re.sub(r"[ \u00a0\u202f]", "", figure)
    if "," in digits or "." in digits:
        whole, sign, part = re.split(r"([.,])", digits, maxsplit=1)
        return f"{max(0, int(whole) + random.choice((-2, -1, 1, 2)))}{sign}{part}"
    value = int(digits)
    if 1000 <= value <= 2100:
        return str(value + random.choice((-10, -3, -2, -1, 1, 2, 3, 10)))
    scale = random.choice((0.5, 2, 10)) if value > 3 and random.random() < 0.3 else 1
    return str(max(0, int(value * scale) + (random.choice((-2, -1, 1, 2, 3, 5)) if scale == 1 else 0)))


def _replaced_by_one(sentence: str, pairs: Sequence[tuple[str, str]], random: Random) -> str | None:
    able = [(old, new) for old, new in pairs if _place(sentence, old) >= 0]
    if not able:
        return None
    return _replaced(sentence, *random.choice(able))


def _place(sentence: str, word: str, *, after_apostrophe: bool = True) -> int:
    """Return where a word stands by itself in a sentence; -1 where it does not."""
    place = sentence.find(word)
    while place >= 0:
        before, after = sentence[place - 1 : place], sentence[place + len(word) : place + len(word) + 1]
        begins = not (before.isalnum() or before == "-") and (after_apostrophe or before not in _APOSTROPHES)
        ends = word[-1] in "' " or not (after.isalnum() or after == "-" or after in _APOSTROPHES)
        if begins and ends:
            return place
        place = sentence.find(word, place + 1)
    return -1


def _replaced(sentence: str, old: str, new: str) -> str:
    # « l'employeur » keeps its word: « l'patron » would be told by its form.
    place = _place(sentence, old, after_apostrophe=new[0] in _VOWELS)
    changed = sentence if place < 0 else f"{sentence[:place]}{new}{sentence[place + len(old) :]}"
    return _ELISION.sub(lambda match: f"{match[1]}'", changed) if new.endswith(" de") else changed
