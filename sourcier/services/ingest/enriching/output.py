"""Reads what the language model wrote of a chunk: what has the right shape, and is the chunk's own words, is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.index.curation.learned_responses import question_key
from sourcier.services.index.language.analyser import analyse_passage
from sourcier.services.index.language.figures import absent, held, stated
from sourcier.services.index.language.names import holds, known_words, names
from sourcier.services.index.language.recognition import detect
from sourcier.services.index.units.work import Settlement, UnitTask
from sourcier.services.ingest.enriching.prompt import (
    ANSWER_CHARACTERS_MAX,
    CATEGORY_CHARACTERS_MAX,
    KEYWORD_CHARACTERS_MAX,
    KEYWORDS_MAX,
    QUESTION_CHARACTERS_MAX,
    SUMMARY_CHARACTERS_MAX,
    USEFULNESS_STEPS,
)

SHARE_MIN = 0.6
"""Of the words of an answer that carry meaning, those that its chunk has to hold in some form."""
QUESTION_WORDS_MIN = 3
_BARE = re.compile(
    r"\b(?:extraits?|passages?|(?:ce|le|du) (?:texte|document)|(?:this|the) (?:text|document|extract))\b", re.IGNORECASE
)
"""A question that asks about the extract is no question that a person would ask."""


class BadOutput(ServiceError):
    """The language model's output has not the shape that was asked for."""

    reason = "BAD_OUTPUT"


class Truncated(BadOutput):
    """The language model's output was longer than allowed."""

    reason = "TRUNCATED"


@dataclass(frozen=True)
class Usage:
    """What generations used, added up."""

    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Return both together."""
        return Usage(
            other.model or self.model, self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


def read_output(output: str, task: UnitTask, usage: Usage, *, pairs_max: int, usefulness_min: float) -> Settlement:
    """Return the unit that an output makes; raise `BadOutput` for one without the shape that was asked for.

    A chunk that is less useful than `usefulness_min`, 0 to 1, gets no pairs.
    """
    read = _parsed(output)
    usefulness = read["usefulness"] / USEFULNESS_STEPS
    given = [(_clean(pair["question"]), _clean(pair["answer"])) for pair in read["pairs"]]
    kept = tuple(supported_pairs(given, task))[:pairs_max] if usefulness >= usefulness_min else ()
    reason, message = _why_none(given, kept, usefulness, usefulness_min)
    category = _clean(read["category"])[:CATEGORY_CHARACTERS_MAX]
    return Settlement(
        state="enriched" if kept else "no_pairs", reason=reason, message=message,
        category=category if not task.categories or category in task.categories else "",
        summary=_clean(read["summary"])[:SUMMARY_CHARACTERS_MAX], keywords=_keywords(read["keywords"]),
        usefulness=usefulness, pairs=kept, model=usage.model, prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
    )


def supported_pairs(pairs: Iterable[tuple[str, str]], task: UnitTask) -> Iterable[tuple[str, str]]:
    """Give the pairs whose answers are in the chunk, with their numbers and names, in its language, each once."""
    source = "\n".join((task.title, *task.heading_path, task.text))
    support = _Support(source, task.language)
    asked = set[str]()
    for question, answer in pairs:
        key = question_key(question) if question else ""
        if not question or not answer or key in asked or _BARE.search(question):
            continue
        if len(question.split()) < QUESTION_WORDS_MIN or key == question_key(answer):
            continue
        if support.states(question, answer):
            asked.add(key)
            yield question, answer


class _Support:
    """What a chunk holds, read once for all its pairs."""

    def __init__(self, source: str, language: str) -> None:
        self._source = source
        self._language = language
        self._figures = held(source)
        self._words = known_words(source)
        self._stems = frozenset(analyse_passage(source).frequencies) | frozenset(
            analyse_passage(source, language=language).frequencies
        )

    def states(self, question: str, answer: str) -> bool:
        """Return whether the chunk has an answer's words, and the numbers and names of both."""
        if self._language and detect(f"{question} {answer}") not in ("", self._language):
            return False
        for text in (question, answer):
            if absent(stated(text), self._figures, text=self._source):
                return False
            if not all(holds(name, self._words) for name in names(text)):
                return False
        stems = analyse_passage(answer, language=self._language).frequencies
        known = sum(stem in self._stems for stem in stems)
        return bool(stems) and known >= SHARE_MIN * len(stems)


def _why_none(
    given: list[tuple[str, str]], kept: tuple[tuple[str, str], ...], usefulness: float, usefulness_min: float
) -> tuple[str, str]:
    if kept:
        return "", ""
    if usefulness < usefulness_min:
        return "NOT_USEFUL", f"the chunk's usefulness is {usefulness:.2f}, and pairs are made from {usefulness_min:.2f}"
    if not given:
        return "MODEL_GAVE_NONE", "the language model gave no question for the chunk"
    return "UNSUPPORTED", f"none of the {len(given)} answers was in the chunk's words, with its numbers and names"


def _parsed(output: str) -> dict[str, Any]:
    try:
        read = json.loads(output)
    except ValueError as error:
        raise BadOutput("the language model's output is no JSON") from error
    shape = {"summary": str, "category": str, "keywords": list, "usefulness": int, "pairs": list}
    if not isinstance(read, dict) or any(not isinstance(read.get(key), kind) for key, kind in shape.items()):
        raise BadOutput("the language model's output lacks what was asked for, or has it in another type")
    if not 0 <= read["usefulness"] <= USEFULNESS_STEPS or isinstance(read["usefulness"], bool):
        raise BadOutput(f"the language model judged the usefulness as {read['usefulness']}, not 0 to "
                        f"{USEFULNESS_STEPS}")
    for pair in read["pairs"]:
        if not isinstance(pair, dict) or not all(isinstance(pair.get(key), str) for key in ("question", "answer")):
            raise BadOutput("a pair of the language model lacks its question or its answer")
        if len(pair["question"]) > 2 * QUESTION_CHARACTERS_MAX or len(pair["answer"]) > 2 * ANSWER_CHARACTERS_MAX:
            raise BadOutput("a pair of the language model is far longer than asked for")
    return read


def _keywords(given: list[Any]) -> tuple[str, ...]:
    words = (_clean(word)[:KEYWORD_CHARACTERS_MAX] for word in given if isinstance(word, str))
    return tuple(dict.fromkeys(word for word in words if word))[:KEYWORDS_MAX]


def _clean(text: str) -> str:
    """Return a text on one line, without what cannot be stored."""
    return " ".join(text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8").split())
