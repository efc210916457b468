"""Sentences of a document that give orders to a language model, found by what such orders have in common (A11).

A document informs its readers; it has no business telling a model what to answer. Orders are left out of prompts, and
nothing that an answer says rests on them. What this costs honest documents is in docs/measured/history/quality.md
(Attacks).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from prometheus_client import Counter

ORDER_CHARACTERS_MAX = 600
"""Left out from the beginning of an order on: it ends with its line, and a long line is not lost for one sentence."""
SHORT_LINE_CHARACTERS = 200
"""A line no longer than this is left out whole: what an order wants said may stand before it."""

orders_total = Counter("sourcier_document_orders_total", "Orders to language models left out of prompts.")

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]*")
# Whole handbooks are orders: "Répondez sous 24 heures", "Ignore the reminder". Only what speaks to a model is one here:
# it names the model, its instructions, or what it is asked; an order to a reader stays, whatever its verb.
_MODEL = (
    r"(?:i\.?a\.?|intelligences? artificielles?|a\.?i\.?|llms?|gpt|chatbots?|modeles? de langage|language models?"
    r"|(?:ai|virtual) assistants?|assistants? (?:ia|ai|virtuels?))"
)
_FORGET = (
    r"(?:ignore[rz]?|oublie[rz]?|neglige[rz]?|contourne[rz]?|ne (?:tiens|tenez) (?:pas|aucun) compte"
    r"|disregard|forget|override|bypass)"
)
_RULES = r"(?:consignes?|instructions?|directives?|regles?|rules?|prompts?|restrictions?|guidelines?)"
_GIVEN = (
    r"(?:precedente?s?|anterieure?s?|ci-dessus|au-dessus|systemes?|initiales?|que tu as|que vous avez recues"
    r"|previous|prior|earlier|above|system|you were (?:given|told)|your)"
)
_ASKED = (
    r"(?:quelle que soit|peu importe|whatever|no matter) (?:la |the |ce qu'|ce que |what )?"
    r"(?:questions?|on te demande|is asked|you are asked)"
)
_SAY = (
    r"(?:reponds(?:-y)?|ecris|dis|affiche|recopie|repete|revele|termine|commence|ajoute|cite|recommande"
    r"|answer|reply|respond|write|say|tell|output|append|insert|repeat|reveal|begin|end|cite|recommend)"
)
_MUST = r"(?:doit|doivent|dois|devez|must|should|(?:is|are) (?:required|forbidden))"
_SAY_MUST = (
    r"(?:repondre|affirmer|dire|refuser|ignorer|ajouter"
    r"|answer|reply|respond|say|tell|refuse|recommend|claim|add|ignore)"
)
_ORDERS = tuple(re.compile(pattern) for pattern in (
    rf"\b{_FORGET}\b.{{0,30}}?\b{_RULES}\b.{{0,20}}?\b{_GIVEN}\b",
    rf"\b{_FORGET}\b.{{0,20}}?\b{_GIVEN}\b.{{0,20}}?\b{_RULES}\b",
    rf"\b{_FORGET}\b.{{0,30}}?\b{_RULES}\b.{{0,10}}?\b(?:et|and|puis|then)\b.{{0,5}}\b{_SAY}\b",
    rf"\A\W*+{_FORGET} (?:(?:toutes?|les|all|the) )*{_RULES}\W*$",
    rf"\b{_FORGET}\b.{{0,20}}?\b(?:autres|other) sources\b",
    r"\b(?:ignore|do not answer|ne reponds pas a) (?:la|the) (?:user's )?question\b"
    r"(?!.{0,10}\b(?:below|suivante|if|si)\b)",
    rf"\b{_SAY}\b.{{0,40}}?\b(?:tes|your) (?:consignes|instructions|prompt)\b|\breveal everything\b"
    r"|\brepeat the conversation\b",
    rf"\b{_FORGET}\b (?:tes|toutes tes|all your|your|what you were told|tout ce qu'on t'a dit)\b",
    rf"{_ASKED}.{{0,10}}?\b{_SAY}\b|\b{_SAY}\b.{{0,80}}?\b{_ASKED}",
    rf"\b{_MODEL}\b.{{0,30}}?\b(?:qui (?:lis|lit|lisez)|when you read|reading this|oublie|ignore|{_SAY})\b",
    rf"\b{_MODEL}\b.{{0,40}}?\b{_MUST}\b.{{0,20}}?\b{_SAY_MUST}\b.{{0,20}}?"
    r"\b(?:que|that|toujours|always|the user|l'utilisateur)\b",
    rf"\b(?:dear|chere?|note (?:a|pour|to|for)|(?:a l')?attention)\b.{{0,24}}?\b{_MODEL}\b",
    rf"\b(?:si tu es|if you are|as|en tant que) (?:une? |an? )?{_MODEL}\b",
    r"\b(?:tu es|you are|you're) (?:maintenant |desormais |now )?(?:une? (?:pirate|poete|ia)|dan|\w+bot"
    r"|an? (?:ai|pirate|language model)|(?:in|en) (?:debug|developer|admin|mode debug) ?(?:mode)?)\b",
    r"\b(?:jailbreak|dan) mode\b",
    r"\A\W*+syst(?:em|eme)\s*+:\s*+(?:tu es|you are|reveal|revele|ignore|oublie|reponds)\b",
    r"\b(?:new|nouvelle)\b.{0,12}\b(?:directive|instruction|consigne) (?:systeme|system)"
    r"|\bnew system (?:prompt|instruction)|\b(?:your|ton|tes) (?:hidden|system|secrets?|cachees?) "
    r"(?:rules|prompt|instructions|consignes)\b|\bprompt systeme\b|\bsystem prompt\b",
    r"\bvraie question de l'utilisateur\b|\buser's real question\b",
    # The commonest order in languages that are neither of the two.
    r"忽略.{0,8}(?:指示|指令|说明)|\bигнорируи .{0,20}(?:инструкц|указан)"
    r"|\bignorier\w* .{0,24}(?:anweisung|instruktion)|\bignora\w* .{0,24}(?:instruccion|istruzion)",
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
    return blank(text, _found(text))


def blank(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text with spaces in the place of each span."""
    for start, end in spans:
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
