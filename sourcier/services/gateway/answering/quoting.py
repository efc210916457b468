"""The extract that is quoted when no sentence of the model is left."""

from __future__ import annotations

from sourcier.services.gateway.events import Citation, Extract, Quoted
from sourcier.services.gateway.evidence.links import extract
from sourcier.services.gateway.evidence.wording import Wording, content_words
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.phrases import Messages
from sourcier.services.gateway.prompting.orders import blanked
from sourcier.services.index.search.passages import Passage

QUOTED_CHARACTERS_MAX = 600


def quote(
    passage: Passage, question: str, messages: Messages, *, marker: int, closest: int | None = None
) -> Quoted:
    """Return a passage, or of a long one the part from the sentence on that says most of what is asked for.

    `closest` is where that sentence begins, if it is known; else the question's words tell.
    """
    # Without its orders to language models; what is quoted is shown unchecked.
    text = blanked(passage.text)
    start = 0
    if len(text) > QUOTED_CHARACTERS_MAX:
        start = Wording(text).best_span(content_words(question)).start if closest is None else closest
        # A sentence near the end would leave little to quote.
        start = min(start, max(0, len(text) - QUOTED_CHARACTERS_MAX))
        start = text.rfind(" ", 0, start) + 1
    end = min(len(text), start + QUOTED_CHARACTERS_MAX)
    if end < len(text):
        end = max(text.rfind(" ", start, end), start + 1)
    shown = f"{'… ' if start else ''}{extract(text[start:end], text)}{' …' if end < len(text) else ''}"
    citation = Citation(
        marker=marker, passage=passage, attached=True, finding=Finding.SUPPORTED, score=None,
        passage_span=(start, end),
    )
    return Quoted(messages.quoted.format(extract=shown, marker=marker), citation)


def quoted_again(shown: Extract, messages: Messages) -> Quoted:
    """Return the sentence that was shown before the language model wrote, as what is left of the answer."""
    return Quoted(messages.quoted.format(extract=shown.text, marker=shown.citation.marker), shown.citation)
