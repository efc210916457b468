"""Prompts that chat clients send to a model on their own account: a title, tags, follow-up questions.

They are no questions to documents. The rule is narrow: one message alone, that begins as those clients' own templates
do and holds the conversation it is about. Everything else is searched for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sourcier.services.web.openai.requests import Message

TITLE_CHARACTERS_MAX = 60
TASK = "### Task:"
"""How Open WebUI's templates begin."""
_OUTPUT = re.compile(r'"(title|tags|follow_ups|queries|text|prompt)"\s*:')
_HISTORY = re.compile(r"<chat_history>(.*?)</chat_history>", re.DOTALL)
_SPEAKER = re.compile(r"^(?:USER|user|User|Human|human):", re.MULTILINE)
_OTHER = re.compile(r"^(?:ASSISTANT|assistant|Assistant|AI|ai):", re.MULTILINE)
TITLE_BEGINNINGS = (
    "Provide a concise, 5-word-or-less title for the conversation",
    "Generate a concise, 5-word-or-less title",
    "Please generate a concise, 5-word-or-less title",
)
"""How LibreChat's prompts begin."""
_EMPTY: dict[str, object] = {"tags": [], "follow_ups": [], "queries": [], "text": "", "prompt": ""}


def own_reply(messages: Sequence[Message]) -> str | None:
    """Return what a client's own prompt is answered with; None for a question to the documents."""
    if len(messages) != 1:
        return None
    prompt = messages[0].text.strip()
    if prompt.startswith(TITLE_BEGINNINGS):
        return _title(prompt.partition("\n")[2])
    if not prompt.startswith(TASK):
        return None
    history, asked = _HISTORY.search(prompt), _OUTPUT.search(prompt)
    if history is None or asked is None:
        return None
    kind = asked[1]
    return json.dumps({kind: _title(history[1]) if kind == "title" else _EMPTY[kind]}, ensure_ascii=False)


def _title(conversation: str) -> str:
    """Return the first question of a conversation, shortened at a word."""
    first = _SPEAKER.search(conversation)
    said = conversation[first.end():] if first else conversation
    other = _OTHER.search(said)
    text = " ".join((said[:other.start()] if other else said).split())
    if len(text) <= TITLE_CHARACTERS_MAX:
        return text or "Sourcier"
    return text[:TITLE_CHARACTERS_MAX].rpartition(" ")[0] + "…"
