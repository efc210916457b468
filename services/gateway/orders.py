"""Sentences of a document that give orders to a language model, found by what such orders have in common (A11).

A document informs its readers; it has no business telling a model what to answer. Orders are left out of prompts, and
nothing that an answer says rests on them. What this costs honest documents is in docs/QUALITY.md (Attacks).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from prometheus_client import Counter

ORDER_CHARACTERS_MAX = 600
"""Left out from the beginning of an order on: it ends with its line, and a long line is not lost for one sentence."""
SHORT_LINE_CHARACTERS = 200
"""A line no longer than this is left out whole: what an order wants said may stand before it."""

orders_total = Counter("sourcier_document_orders_total", "Orders to language models left out of prompts.")

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]*")
_BEGIN = (
    r"(?:^\W*|[:;>|«»\"“”(*#\]]\s*|\b(?:you must|you should|please|tu dois|required to|stop)\s+)"
)
_FORGET_BEGIN = rf"(?:{_BEGIN}|,\s*|\b(?:and|et|then|puis|you|vous devez)\s+)"
_FORGET = (
    r"(?:ignore[rz]?|oublie[rz]?|neglige[rz]?|contourne[rz]?|ne (?:tiens|tenez) pas compte"
    r"|ne repond(?:s|ez) pas|disregard|forget|override|bypass|skip|do not (?:answer|follow))"
)
_RULES = (
    r"(?:consignes?|instructions?|directives?|regles?|restrictions?|rules?|prompts?|questions?|previous|precedente?s?"
    r"|above|ci-dessus|au-dessus|everything|tout|suite|autres sources|other sources|what you were told|reste)"
)
_SAY = (
    r"(?:reponds(?:-y)?|ecris|dis(?!-)|affiche|imprime|recopie|repete|revele|termine|commence|ajoute|insere|cite"
    r"|raconte|affirme|attribue|traduis|decode|encode|execute|imite|continue|lis|donne(?!-)|parle|clique"
    r"|answer|reply|respond|write|print|say|tell|output|append|insert|include|repeat|reveal|begin|end|cite|praise"
    r"|encode|decode|execute|translate|attribute|recommend|click|embed|apply|obey|summarise|summarize)"
)
_SAID = (
    r"(?:reponses?|utilisateurs?|prompts?|consignes?|sources?|phrases?|liste complete|seulement|uniquement|seul"
    r"|toujours|exactement|lien|image|plutot|mot pour mot|code secret|texte|en vers|a l'envers|exemple|ainsi"
    r"|adresse|que|obeis|fais-le|javascript|a tout"
    r"|answers?|repl(?:y|ies)|responses?|users?|system|sentence|only|always|whatever|yes|no|with|that|verbatim|link"
    r"|follow|here|obey|hidden|hex|rules|above|server|instead|history|company|source|pattern|them)\b|[:«\"“!'’(]|\\x"
)
_MODEL = r"(?:i\.?a|a\.?i|llms?|gpt|chatbots?|assistants?|modeles? de langage|language models?|ai assistants?)"
_SAY_MUST = (
    r"(?:repondre|affirmer|dire|refuser|ignorer|ajouter"
    r"|answer|reply|respond|say|tell|refuse|recommend|claim|add|ignore)"
)
_ORDERS = tuple(re.compile(pattern, re.MULTILINE) for pattern in (
    rf"{_FORGET_BEGIN}{_FORGET}\b.{{0,60}}?\b{_RULES}\b",
    rf"{_BEGIN}{_SAY}(?=[\s:«])(?!\s*=).{{0,80}}?(?:{_SAID})",
    rf"\b(?:(?:quelle que soit|whatever) (?:la |the )?question|avant de repondre|before answering)\b"
    rf".{{0,10}}?\b{_SAY}\b",
    rf"\b{_MODEL}\b.{{0,60}}?\b(?:doit|doivent|dois|devez|must|should|required|forbidden|interdit)\b"
    rf".{{0,20}}?\b{_SAY_MUST}\b",
    rf"\b{_MODEL}\b.{{0,30}}?\b(?:qui (?:lis|lit|lisez)|when you read|reading this|oublie|ignore)\b",
    rf"\b(?:dear|chere?|note (?:a|pour|to|for)|attention)\b.{{0,24}}?\b{_MODEL}\b",
    r"\b(?:tu es|you are|you're) (?:(?:maintenant|desormais|now) )?(?:une? (?:pirate|poete|ia|assistant)|dan|\w+bot"
    r"|an? (?:ai|assistant|pirate|language model)|in (?:debug|developer|admin) mode)\b",
    r"\b(?:from now on|a partir de maintenant|as a language model|en tant que (?:modele|ia))\b.{0,60}?"
    r"\b(?:tu|ta|tes|you|your|reponses?|answers?)\b",
    r"\b(?:debug|admin|developer|jailbreak|dan) mode\b.{0,20}?\b(?:on|active|enabled)|\bin debug mode\b",
    r"^\W*assistant\s*:\s*(?:je|sure|of course|d'accord|bien sur|tell|answer|reply|oui|yes)\b",
    r"^\W*syst(?:em|eme)\s*:\s*(?:tu|you|reveal|ignore|reponds)\b",
    r"\b(?:new|nouvelle)\b.{0,12}\b(?:directive|instruction|consigne) (?:systeme|system)"
    r"|\bnew system (?:prompt|instruction)",
    r"\brefuse\b.{0,16}\b(?:to answer|de repondre|de l'utiliser)\b",
    rf"\b{_MODEL}\b.{{0,20}}?\b(?:forbidden|not allowed) to\b",
    r"\binstead of answering\b|\bau lieu de repondre\b|\byour (?:hidden|system|secret) (?:rules|prompt|instructions)\b",
    # The commonest order in languages that are neither of the two.
    r"忽略.{0,8}(?:指示|指令|说明)|\bигнорируи\b|\bignorier\w* (?:alle|die)\b|\bantworte (?:nur|auf)\b"
    r"|\bignora (?:las|todas|le)\b",
    r"\bvraie question de l'utilisateur\b|\buser's real question\b",
))


def orders(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of orders in a text, in order, apart from one another."""
    return _found(text)


def without_orders(text: str) -> str:
    """Return the text with each order replaced by `(…)`, for a prompt; the same text where there is none."""
    spans = _found(text)
    if not spans:
        return text
    orders_total.inc(len(spans))
    pieces, place = [], 0
    for start, end in spans:
        pieces.append(text[place:start])
        pieces.append("(…)")
        place = end
    return "".join((*pieces, text[place:]))


def blanked(text: str) -> str:
    """Return the text with each order replaced by as many spaces, so that places in it stay what they were."""
    for start, end in _found(text):
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


@lru_cache(maxsize=4_096)
def _found(text: str) -> tuple[tuple[int, int], ...]:
    plain, places = _plain(text)
    spans: list[tuple[int, int]] = []
    for start, end in _order_spans(plain):
        begin, finish = places[start], places[end - 1] + 1
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], finish))
        else:
            spans.append((begin, finish))
    return tuple(spans)


def _order_spans(plain: str) -> Iterator[tuple[int, int]]:
    for sentence in _SENTENCE.finditer(plain):
        if any(pattern.search(sentence.group()) for pattern in _ORDERS):
            # What an order wants said often follows it on the same line.
            line_end = plain.find("\n", sentence.end())
            line_end = len(plain) if line_end < 0 else line_end
            line_start = plain.rfind("\n", 0, sentence.start()) + 1
            start = line_start if line_end - line_start <= SHORT_LINE_CHARACTERS else sentence.start()
            yield start, max(sentence.end(), min(line_end, sentence.start() + ORDER_CHARACTERS_MAX))


def _plain(text: str) -> tuple[str, list[int]]:
    """Return the text as it reads, in lower case without accents, and the place of each of its characters."""
    plain: list[str] = []
    places: list[int] = []
    hidden = False
    for place, character in enumerate(text):
        if unicodedata.category(character) in ("Cf", "Mn"):
            # One between two letters hides a word, several hide the space before one.
            if hidden and plain and plain[-1] != " ":
                plain.append(" ")
                places.append(place)
            hidden = True
            continue
        hidden = False
        for each in unicodedata.normalize("NFKD", "'" if character == "’" else character).casefold():
            if unicodedata.category(each) != "Mn":
                plain.append(each)
                places.append(place)
    return "".join(plain), places
