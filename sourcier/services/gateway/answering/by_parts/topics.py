"""What is searched for of a part: its question, or the topic alone as a question to its own documents."""

from __future__ import annotations

import re

from sourcier.services.gateway.answering.by_parts.naming import Part
from sourcier.services.index.language.stop_words import fold_in_place

_ASKS = re.compile(
    r"(?:quel|qui|que|qu'|quand|combien|ou|comment|donne|indique|de quand|a quel|what|who|when|where|how|which)"
)
_ARTICLE = re.compile(r"(?:le |la |les |l'|un |une |des |du )")
_FEMININE = re.compile(r"(?:prime|duree|date|indemnite|somme|part|cotisation|periode|proportion)\b")


def searched(part: Part, language: str) -> str:
    """Return what is searched for: of a part that is about certain documents, the topic alone."""
    if not part.document_ids or not part.topic:
        return part.question
    return _asking(part.topic, french=language == "fr")


def _asking(topic: str, *, french: bool) -> str:
    """Return a topic as a question, whose form tells what kind of value answers it."""
    plain = fold_in_place(topic)
    if _ASKS.match(plain) is not None:
        return f"{topic} ?" if french else f"{topic}?"
    if not french:
        return f"What is {topic}?" if plain.startswith("the ") else f"What is the {topic}?"
    article = _ARTICLE.match(plain)
    bare = topic if article is None else topic[article.end() :]
    feminine = article is not None and article.group() == "la "
    if feminine or _FEMININE.match(plain, len(topic) - len(bare)) is not None:
        return f"Quelle est la {bare} ?"
    return f"Quel est le {bare} ?"
