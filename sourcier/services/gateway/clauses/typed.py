"""Questions as people type them, written out: hyphens that are left away, greetings, thanks, « …, non ? »."""

from __future__ import annotations

import re

_APOSTROPHES = re.compile("[\u2018\u2019\u02bc]")
_COURTESY = re.compile(
    r"(?:^|(?<=[\s,.!?]))(?:(?:bonjour|bonsoir|salut|coucou|hello|hi|hey)(?=\W)(?: (?:à tous|all|everyone))?|svp|stp|"
    r"s'il (?:vous|te) pla[iî]t|par avance|d'avance|merci(?: (?:d'avance|beaucoup|bien))?|please|pls|plz|thanks|"
    r"thank you|thx|cordialement)(?=[\s,.!?]|$)", re.IGNORECASE,
)
_TAG = re.compile(
    r",?\s(?:n'est[- ]ce pas|c'est (?:ça|bien ça)|pas vrai|je me trompe|right|correct|isn't it|doesn't it|don't they|"
    r"aren't they|is that right|is that correct)(?=\s*+\?)|,\s(?:non|hein|yes|no)(?=\s*+\?)", re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:est[- ]ce|esce|esse)[- ](?:que?\b|k\b|qu')|\b(?:esque|esk|eske)\b", re.IGNORECASE)
_THERE = re.compile(r"\by[- ]?a[- ]t[- ]?il\b", re.IGNORECASE)
_THERE_IS = re.compile(r"(?:^|(?<=\s))y ?a(?=\s)(?<!il y a)", re.IGNORECASE)
_TURNED = re.compile(
    r"(?<![\w'-])(?P<verb>est|sont|a|ont|peut|peuvent|doit|doivent|sera|seront|va|vont|fait|font|faut|reste|existe|"
    r"\w{2,20}ent)(?P<t> t)? (?P<subject>ils|elles|il|elle|on)(?= )(?! y a\b)", re.IGNORECASE,
)
_MAY_I = re.compile(r"\bpuis-je\b", re.IGNORECASE)
_REALLY = re.compile(r"(?<=c'est) bien(?= (?!que\b))|(?<= est) bien(?= (?:de|à|le|la|les)\b)", re.IGNORECASE)
_SPACES = re.compile(r"\s{2,}")


def written_out(question: str) -> str:
    """Return a question in the form in which a school would have it: « y a t il », « esque » and « svp » are gone."""
    text = _APOSTROPHES.sub("'", question.strip())
    text = _COURTESY.sub(" ", text)
    text = _TAG.sub(" ", text)
    text = _ASKS.sub("est-ce que", text) if not re.search(r"\best-ce qu'", text, re.IGNORECASE) else text
    text = _THERE.sub("y a-t-il", text)
    text = _THERE_IS.sub("il y a", text)
    if text.rstrip().endswith("?"):
        text = _TURNED.sub(lambda found: f"{found['verb']}-{'t-' if found['t'] else ''}{found['subject']}", text)
    text = _MAY_I.sub("peux-je", text)
    text = _REALLY.sub("", text)
    return _SPACES.sub(" ", text).strip(" ,;")
