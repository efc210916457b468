"""An answer as notebooks show it: text, sources, and what was withheld. Nothing of a document is taken for markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from sourcier.gateway.v1 import answer_pb2
from sourcier.moments import page_or_moment

if TYPE_CHECKING:
    from sourcier.results import Answer

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
_MARKER = re.compile(r"\[([0-9]{1,3})\]")


def html(answer: Answer) -> str:
    """Return an answer as HTML."""
    text = _MARKER.sub(r"<sup>[\1]</sup>", escape(answer.text)).replace("\n", "<br>")
    sources = "".join(
        f"<li value='{marker}'>{escape(named)} <small>{escape(source)}</small></li>"
        for marker, named, source in _sources(answer)
    )
    withheld = "".join(
        f"<li><del>{escape(each.sentence)}</del> — {escape(each.reason)}</li>" for each in answer.withheld
    )
    return "".join((
        "<div class='sourcier-answer'>", f"<p>{text}</p>", f"<ol>{sources}</ol>" if sources else "",
        f"<ul>{withheld}</ul>" if withheld else "", "</div>",
    ))


def markdown(answer: Answer) -> str:
    """Return an answer as Markdown; its own text may format itself, but holds no HTML."""
    lines = [escape(answer.text, quote=False)]
    lines += [f"\n\\[{marker}\\] {_plain(named)} ({_plain(source)})" for marker, named, source in _sources(answer)]
    lines += [f"\n~~{_plain(each.sentence)}~~ — {_plain(each.reason)}" for each in answer.withheld]
    return "\n".join(lines)


def _sources(answer: Answer) -> Iterator[tuple[int, str, str]]:
    """Yield marker, title with page, and origin of each source that is cited, in the order of the markers."""
    first: dict[int, answer_pb2.Citation] = {}
    for citation in answer.citations:
        first.setdefault(citation.marker, citation)
    for marker in sorted(first):
        citation = first[marker]
        if marker:
            title = citation.title or citation.source
            where = page_or_moment(citation.page, citation.places)
            yield marker, f"{title}, {where}" if where else title, citation.source


def _plain(text: str) -> str:
    return escape(_MARKUP.sub(r"\\\1", " ".join(text.split())), quote=False)
