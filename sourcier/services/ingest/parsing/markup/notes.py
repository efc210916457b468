"""Footnotes put beside what calls them, where a page keeps them in a list of their own at its end."""

from __future__ import annotations

import lxml.html  # type: ignore[import-untyped]

_LISTS = frozenset({"footnotes", "footnote", "endnotes", "notes-de-bas-de-page", "footnotes-list"})
_LIST_ROLES = frozenset({"doc-endnotes", "doc-footnotes"})
_BACK = ("footnote-backref", "footnote-back", "reversefootnote", "data-footnote-backref")
_CALLING = frozenset([
    "p", "li", "dd", "dt", "td", "th", "blockquote", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "div", "table",
])


def place_notes(root: lxml.html.HtmlElement) -> None:
    """Move each note of a list of footnotes behind the paragraph or item, the table or list, that calls it first."""
    notes = {
        note.get("id"): note
        for section in list(root.iter("section", "div", "ol", "aside"))
        if set((section.get("class") or "").lower().split()) & _LISTS or section.get("role") in _LIST_ROLES
        for note in section.iter("li")
        if note.get("id")
    }
    if not notes:
        return
    placed: dict[lxml.html.HtmlElement, lxml.html.HtmlElement] = {}
    number = 0
    for link in list(root.iter("a")):
        note = notes.get((link.get("href") or "").removeprefix("#"))
        if note is None or any(ancestor is note for ancestor in link.iterancestors()):
            continue
        number += 1
        del notes[note.get("id")]
        shown = "".join(link.text_content().split()).strip("[]()") or str(number)
        _place(note, shown, _place_of(link), placed)


def _place_of(link: lxml.html.HtmlElement) -> lxml.html.HtmlElement:
    """Return what the note follows: the paragraph of its call, and of a table all of it."""
    table = next((ancestor for ancestor in link.iterancestors("table")), None)
    if table is not None:
        return table
    root = link.getroottree().getroot()
    return next((ancestor for ancestor in link.iterancestors() if ancestor.tag in _CALLING), root)


def _place(
    note: lxml.html.HtmlElement, shown: str, caller: lxml.html.HtmlElement,
    placed: dict[lxml.html.HtmlElement, lxml.html.HtmlElement],
) -> None:
    for back in [link for link in note.iter("a") if _goes_back(link)]:
        back.drop_tree()
    note.getparent().remove(note)
    note.tail = None
    note.tag = "div"
    note.attrib.clear()
    first = next((child for child in note.iter("p")), note)
    first.text = f"[{shown}] {(first.text or '').lstrip()}"
    if caller.tag in ("li", "dd", "td", "th", "div"):
        caller.append(note)
    else:
        after = placed.get(caller, caller)
        tail, after.tail = after.tail, None
        after.addnext(note)
        note.tail = tail
    placed[caller] = note


def _goes_back(link: lxml.html.HtmlElement) -> bool:
    return any(name in (link.get("class") or "") or link.get(name) is not None for name in _BACK) or (
        (link.get("href") or "").startswith("#") and link.text_content().strip("\ufe0e \n") in ("↩", "↑", "^", "⤴")
    )
