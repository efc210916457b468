"""The prompt: the fixed part first, for the engine's prefix cache, then the passages, what was said, the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.gateway.history import History, last_lines
from services.gateway.messages import Messages
from services.index.passages import Passage


@dataclass(frozen=True)
class Prompt:
    """What the language model reads."""

    system: str
    user: str


def build_prompt(
    question: str, passages: Sequence[Passage], messages: Messages, *, refusal: str, history: History = ()
) -> Prompt:
    """Return the prompt over passages numbered from 1 in their order; of the history, a summary (SPEC A2)."""
    extracts = "\n\n".join(
        f"[{number}] {origin(passage, messages)}\n{passage.text.strip()}"
        for number, passage in enumerate(passages, start=1)
    )
    return Prompt(
        system=messages.instructions.format(refusal=refusal),
        user=f"{messages.extracts}\n\n{extracts}\n\n{summary(history, messages)}{messages.question} {question}",
    )


def summary(history: History, messages: Messages) -> str:
    """Return the last two exchanges, cut short, under their heading; nothing where nothing was said before."""
    if not history:
        return ""
    return f"{messages.said}\n{last_lines(history, user=messages.user, assistant=messages.assistant)}\n\n"


def origin(passage: Passage, messages: Messages) -> str:
    """Return where a passage stands, as a person would say it: document > headings (page)."""
    path = " > ".join([passage.title or "Document", *passage.heading_path])
    return f"{path} ({messages.page} {passage.page})" if passage.page else path
