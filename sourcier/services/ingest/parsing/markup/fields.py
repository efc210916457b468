"""What stands in the fields of a form: values, ticked boxes, the option that was chosen."""

from __future__ import annotations

import lxml.html  # type: ignore[import-untyped]

TICKED, EMPTY = "☒", "☐"
_OPTIONS_MAX = 20
"""A longer list (countries, years) is read by what is chosen of it alone."""
_WITHOUT_TEXT = frozenset({"hidden", "password", "file", "image", "color", "range"})
_BOX_ROLES = frozenset({"checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"})


def is_box(element: lxml.html.HtmlElement) -> bool:
    """Tell whether an element without text is drawn as a box that may be ticked."""
    return element.get("role") in _BOX_ROLES and element.get("aria-checked") is not None and not (
        element.text_content().strip()
    )


def field_text(element: lxml.html.HtmlElement) -> str:
    """Return what a person sees in a field."""
    if element.tag == "select":
        return _options(element)
    if element.tag == "textarea":
        return str(element.text_content()).strip()
    if element.tag in ("progress", "meter"):
        return str(element.text_content()).strip() or (element.get("value") or "")
    if element.tag != "input":
        return f"{TICKED if element.get('aria-checked') == 'true' else EMPTY} "
    kind = (element.get("type") or "text").lower()
    if kind in ("checkbox", "radio"):
        return f"{TICKED if element.get('checked') is not None else EMPTY} "
    return "" if kind in _WITHOUT_TEXT else (element.get("value") or "").strip()


def label_colon(before: str, element: lxml.html.HtmlElement) -> str:
    """Return what sets a value apart from the label before it."""
    kind = (element.get("type") or "text").lower() if element.tag == "input" else ""
    if not before.strip() or kind in ("checkbox", "radio", "submit", "button", "reset") or element.get("role"):
        return " " if before and not before[-1].isspace() else ""
    return " " if before.rstrip()[-1] in ":?=(.,;" else " : "


def _options(select: lxml.html.HtmlElement) -> str:
    options = [(option, " ".join((option.text_content() or option.get("label") or "").split()))
               for option in select.iter("option")]
    options = [(option, text) for option, text in options if text]
    chosen = [option for option, _ in options if option.get("selected") is not None]
    if not chosen and options and select.get("multiple") is None:
        chosen = [options[0][0]]  # what a browser shows
    if len(options) > _OPTIONS_MAX:
        return ", ".join(text for option, text in options if any(option is one for one in chosen))
    return " ".join(
        f"{TICKED if any(option is one for one in chosen) else EMPTY} {text}" for option, text in options
    )
