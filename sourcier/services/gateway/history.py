"""What was said before in a conversation, as a prompt may tell it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sourcier.services.index.language.recognition import recognise
from sourcier.services.index.language.words import split_words

SUMMARY_MESSAGES = 4
"""The last two exchanges (SPEC A2)."""

SUMMARY_CHARACTERS = 200
"""Of each message (SPEC A2)."""

_MARKERS = re.compile(r"(?<!\s)\s*+\[\d+\]")


@dataclass(frozen=True)
class HistoryMessage:
    """A message that came before the question."""

    role: Literal["user", "assistant"]
    content: str


Language = Literal["fr", "en"]
"""In which people are spoken to."""

DEFAULT_LANGUAGE: Language = "fr"

FOREIGN_WORDS_MIN = 4
"""Words from which on a question counts as one in another language than these: fewer may be names and an article."""

History = Sequence[HistoryMessage]
"""The oldest first."""


def language_of(question: str, history: History = (), *, default: Language = DEFAULT_LANGUAGE) -> Language:
    """Return in which language to speak to somebody who asks: French in French, English in any other.

    « OK » tells nothing, so the last question that does decides; the default where none does.
    """
    asked = (message.content for message in reversed(history) if message.role == "user")
    spoken = next((found for text in (question, *asked) if (found := _spoken(text))), default)
    return "fr" if spoken == "fr" else "en"


def _spoken(text: str) -> str:
    """Return a text's language as ISO 639-1 has it; empty where it does not tell."""
    found = recognise(text)
    return found if found in ("fr", "en") or len(split_words(text)) >= FOREIGN_WORDS_MIN else ""


def last_lines(
    history: History, *, user: str, assistant: str, messages_max: int = SUMMARY_MESSAGES,
    characters_max: int = SUMMARY_CHARACTERS,
) -> str:
    """Return the last messages, one a line, each after its speaker's name and cut to its first characters.

    Citation markers are left out: they number the passages of another search, and a model would repeat them.
    """
    names = {"user": user, "assistant": assistant}
    return "\n".join(
        f"{names[message.role]} {shortened(message.content, characters_max)}"
        for message in history[-messages_max:]
    )


def shortened(text: str, characters_max: int) -> str:
    """Return the beginning of a text on one line, without citation markers."""
    line = " ".join(_MARKERS.sub("", text).split())
    return line if len(line) <= characters_max else line[: characters_max - 1].rstrip() + "…"
