"""What stands around a page's content: menus, banners, share lines, footers.

Nothing but menus is lost: the rest is taken out of the content and read after it. Recall comes first, so what holds
the page's title or much of its text is content whatever its name says.
"""

from __future__ import annotations

import re

import lxml.html  # type: ignore[import-untyped]

_AROUND = frozenset({"footer", "aside", "header", "nav"})
_AROUND_ROLES = frozenset({
    "banner", "complementary", "contentinfo", "search", "navigation", "menu", "menubar", "dialog", "alertdialog",
    "toolbar",
})
_MENU_ROLES = frozenset({"navigation", "menu", "menubar"})
_CONTENT = ("main", "article", "section")
_NAME_PARTS = re.compile(r"[A-Z]?[a-zà-ÿ]+|[A-Z]+")
_BANNERS = frozenset([
    "cookie", "cookies", "consent", "consentement", "gdpr", "rgpd", "tarteaucitron", "didomi", "axeptio", "onetrust",
])
_MENUS = frozenset([
    "menu", "nav", "navbar", "navigation", "breadcrumb", "breadcrumbs", "ariane", "pagination", "pager", "skip",
])
_LINKS = frozenset([
    "share", "sharing", "partage", "partager", "social", "socials", "related", "connexes", "newsletter", "toolbar",
    "sidebar", "tags",
])
_BANNER_WORDS = re.compile(r"cookie|traceur|consent", re.I)
_BANNER_SHARE_MAX = 0.4
_LINKED_SHARE = 0.6
_MAIN_SHARE_MIN = 0.3
_SHORT_MENU = 40
_PARTS_OF_CONTENT = frozenset([
    "table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th", "li", "a", "label", "option", "p", "span", "b",
    "i", "em", "strong",
])


def take_apart(root: lxml.html.HtmlElement) -> list[lxml.html.HtmlElement]:
    """Take what stands around the content out of the page, and return it in order; menus go for good."""
    total = _length(root)
    if not total:
        return []
    page = _Page(root, total)
    menus = [element for element in root.iter() if isinstance(element.tag, str) and page.is_menu(element)]
    for element in menus:
        if element.getparent() is not None:
            _take_out(element)
    apart: list[lxml.html.HtmlElement] = []
    skipped: set[lxml.html.HtmlElement] = set()
    for element in list(root.iter()):
        if not isinstance(element.tag, str) or element is root or element.tag in ("html", "body"):
            continue
        if element.getparent() in skipped:
            skipped.add(element)
        elif page.is_around(element):
            skipped.add(element)
            _take_out(element)
            apart.append(element)
    if not _length(root):
        # The page has no other content: then this is it.
        return _put_back(root, apart or [menu for menu in menus if menu.getparent() is None])
    return apart


class _Page:
    """What is known of a page before its parts are looked at."""

    def __init__(self, root: lxml.html.HtmlElement, total: int) -> None:
        self._total = total
        self._holders = {
            holder for element in root.iter("h1", "main") for holder in (element, *element.iterancestors())
        }
        """Elements that hold the page's title or its main part: content."""
        self._beside: set[lxml.html.HtmlElement] = set()
        """Elements beside the main part, at any depth."""
        main = _main(root, total)
        if main is not None:
            path = [main, *main.iterancestors()]
            on_path = set(path)
            self._beside = {child for parent in path[1:] for child in parent if child not in on_path}

    def is_menu(self, element: lxml.html.HtmlElement) -> bool:
        """Tell whether an element is a list of links to other pages."""
        named = element.tag == "nav" or element.get("role") in _MENU_ROLES
        if element in self._holders or not (named or _names(element) & _MENUS):
            return False
        return _linked_share(element) >= _LINKED_SHARE or (named and _length(element) < _SHORT_MENU)

    def is_around(self, element: lxml.html.HtmlElement) -> bool:
        """Tell whether an element stands around the content."""
        if element in self._holders or element.tag in _PARTS_OF_CONTENT:
            return False
        if element in self._beside:
            return True
        if element.tag in _AROUND or element.get("role") in _AROUND_ROLES:
            return not any(ancestor.tag in _CONTENT for ancestor in element.iterancestors())
        names = _names(element)
        if names & _BANNERS:
            text = element.text_content()
            return bool(_BANNER_WORDS.search(text)) and _length(element) <= self._total * _BANNER_SHARE_MAX
        return bool(names & _LINKS) and _linked_share(element) >= _LINKED_SHARE


def _put_back(root: lxml.html.HtmlElement, apart: list[lxml.html.HtmlElement]) -> list[lxml.html.HtmlElement]:
    """Put elements into the page again; nothing is left apart."""
    body = root.find("body")
    for element in apart:
        (root if body is None else body).append(element)
    return []


def _main(root: lxml.html.HtmlElement, total: int) -> lxml.html.HtmlElement | None:
    for element in root.iter():
        if isinstance(element.tag, str) and (element.tag == "main" or element.get("role") == "main"):
            return element if _length(element) >= total * _MAIN_SHARE_MIN else None
    return None


def _names(element: lxml.html.HtmlElement) -> frozenset[str]:
    named = f"{element.get('class', '')} {element.get('id', '')}"[:300]
    return frozenset(part.lower() for part in _NAME_PARTS.findall(named))


def _linked_share(element: lxml.html.HtmlElement) -> float:
    length = _length(element)
    linked = sum(_length(link) for link in element.iter("a", "button"))
    return linked / length if length else 0.0


def _length(element: lxml.html.HtmlElement) -> int:
    return sum(map(len, "".join(element.itertext()).split()))


def _take_out(element: lxml.html.HtmlElement) -> None:
    """Take an element out of its page; what follows it stays."""
    tail, element.tail = element.tail, None
    parent, previous = element.getparent(), element.getprevious()
    if tail:
        if previous is not None:
            previous.tail = f"{previous.tail or ''} {tail}"
        else:
            parent.text = f"{parent.text or ''} {tail}"
    parent.remove(element)
