"""Markdown as HTML: CommonMark with tables, struck-out text, footnotes and task boxes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape

import lxml.html.defs  # type: ignore[import-untyped]
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

from sourcier.services.ingest.parsing.markup.fields import EMPTY, TICKED

_BOX = re.compile(r"(?<![^\s>])\[([ xX])\](?![^\s])")
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9:-]*)")
_KNOWN_TAGS = frozenset(lxml.html.defs.tags) | frozenset([
    "details", "summary", "main", "section", "article", "aside", "header", "footer", "nav", "figure", "figcaption",
    "mark", "time", "picture", "source", "video", "audio", "svg", "path", "dialog", "template", "search", "output",
    "meter", "progress", "math", "wbr", "ruby", "rt", "rp", "bdi", "data",
])
# With what no parenthesis closes: it holds no other one, and is looked through once.
_DATA_URI = re.compile(r"\(data:[^)\s]{200,}+(\))?")


def html_of(text: str) -> str:
    """Return a Markdown text as a page."""
    text = _DATA_URI.sub(lambda match: "()" if match.group(1) else match.group(), text)
    environment: dict[str, object] = {}
    parser = _parser()
    tokens = parser.parse(text, environment)
    for token in _all(tokens):
        if token.type == "text":
            token.content = _BOX.sub(lambda box: EMPTY if box.group(1) == " " else TICKED, token.content)
        elif token.type in ("html_inline", "html_block"):
            token.content = _readable(token.content)
    return str(parser.renderer.render(tokens, parser.options, environment))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable(["table", "strikethrough"])
    # An address that is no safe link is still what the writer wrote.
    parser.validateLink = lambda _url: True  # type: ignore[method-assign, assignment]
    return parser.use(footnote_plugin).use(deflist_plugin)


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        if token.children:
            yield from token.children


def _readable(html: str) -> str:
    """Return raw HTML with what is no tag of HTML as text: `<nom du client>` is a blank to fill in."""
    if html.startswith("<!--"):
        return html if "-->" in html else escape(html)
    unknown = [name for name in _TAG.findall(html) if name.lower() not in _KNOWN_TAGS]
    return escape(html) if unknown and not html.startswith("<!") else html
