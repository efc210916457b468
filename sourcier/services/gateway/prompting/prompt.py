"""The prompt: the fixed part first, for the engine's prefix cache, then the passages, what was said, the question."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.history import History, last_lines
from sourcier.services.gateway.phrases import Messages
from sourcier.services.gateway.prompting.marking import LINE_MARK, Marking, defused, one_line
from sourcier.services.index.search.passages import Passage


def build_prompt(
    question: str, passages: Sequence[Passage], messages: Messages, *, refusal: str, marking: Marking, tenant: str,
    history: History = (),
) -> Prompt:
    """Return the prompt over passages numbered from 1 in their order, each marked as a document's words (A11, Q7).

    One with an empty text is left out and keeps its number. Of the history it holds a summary (A2).
    """
    extracts = "\n\n".join(
        f"{header(number, passage, messages)}\n"
        f"{with_pair(marking.passage(passage.text, tenant=tenant, chunk_id=passage.chunk_id), passage, messages)}"
        for number, passage in enumerate(passages, start=1) if passage.text
    )
    sources = f"{messages.extracts}\n\n{extracts}\n\n"
    return Prompt(
        system=messages.instructions.format(refusal=refusal),
        user=f"{sources}{summary(history, messages)}{messages.question} {defused(question)}", sources=sources,
    )


def with_pair(marked: str, passage: Passage, messages: Messages) -> str:
    """Return a marked passage with the question and answer that it was found by, marked alike, at its end (Q7)."""
    if not passage.question:
        return marked
    words, _, end = marked.rpartition("\n")
    return (
        f"{words}\n{LINE_MARK}{messages.question} {one_line(passage.question)}\n"
        f"{LINE_MARK}{messages.answer} {one_line(passage.answer)}\n{end}"
    )


def summary(history: History, messages: Messages) -> str:
    """Return the last two exchanges, cut short, under their heading; nothing where nothing was said before."""
    if not history:
        return ""
    lines = last_lines(history, user=messages.user, assistant=messages.assistant)
    return f"{messages.said}\n{defused(lines)}\n\n"


def header(number: int, passage: Passage, messages: Messages) -> str:
    """Return `[Source n] [category] - document > heading path (page)`; no category where there is none (Q7)."""
    category = one_line(passage.category)
    return f"[Source {number}]{f' [{category}]' if category else ''} - {origin(passage, messages)}"


def origin(passage: Passage, messages: Messages) -> str:
    """Return where a passage stands, as a person would say it: document > headings (page)."""
    path = " > ".join(map(one_line, [passage.title or "Document", *passage.heading_path]))
    return f"{path} ({messages.page} {passage.page})" if passage.page else path
