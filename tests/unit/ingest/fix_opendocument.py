"""OpenDocument files written part by part, as LibreOffice writes them."""

from __future__ import annotations

import zipfile
from pathlib import Path

_PREFIXES = {
    "office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing", "meta": "meta",
    "fo": "xsl-fo-compatible", "presentation": "presentation", "form": "form", "chart": "chart",
}  # fmt: skip
NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for prefix, name in _PREFIXES.items()
) + ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
MEDIA_TYPE = "application/vnd.oasis.opendocument."


def content(kind: str, body: str, automatic: str = "") -> str:
    """Return a content part."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {NAMESPACES}>'
        f"<office:automatic-styles>{automatic}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )


def write_opendocument(
    path: Path, kind: str, body: str, *, automatic: str = "", styles: str = "", master: str = "", title: str = "",
    manifest: str = "", objects: dict[str, str] | None = None,
) -> Path:
    """Write a text, spreadsheet or presentation: its body, its styles, its pages, and embedded objects."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", MEDIA_TYPE + kind, zipfile.ZIP_STORED)
        archive.writestr("content.xml", content(kind, body, automatic))
        archive.writestr(
            "styles.xml",
            f"<office:document-styles {NAMESPACES}><office:styles>{styles}</office:styles>"
            f"<office:master-styles>{master}</office:master-styles></office:document-styles>",
        )
        archive.writestr(
            "meta.xml", f"<office:document-meta {NAMESPACES}><office:meta><dc:title>{title}</dc:title></office:meta>"
            "</office:document-meta>",
        )
        archive.writestr("META-INF/manifest.xml", manifest or "<!DOCTYPE manifest:manifest><m/>")
        for name, written in (objects or {}).items():
            archive.writestr(name, written)
    return path


def style(name: str, family: str, properties: str = "", *, parent: str = "", more: str = "") -> str:
    """Return a style of text properties."""
    inherited = f' style:parent-style-name="{parent}"' if parent else ""
    text = f"<style:text-properties {properties}/>" if properties else ""
    return f'<style:style style:name="{name}" style:family="{family}"{inherited} {more}>{text}</style:style>'


def list_style(name: str, *levels: str) -> str:
    """Return a list style: attributes of its levels from 1; an empty one is a bullet."""
    written = "".join(
        f'<text:list-level-style-number text:level="{level}" {attributes}/>' if attributes
        else f'<text:list-level-style-bullet text:level="{level}" text:bullet-char="•"/>'
        for level, attributes in enumerate(levels, start=1)
    )
    return f'<text:list-style style:name="{name}">{written}</text:list-style>'


def p(text: str, name: str = "Standard") -> str:
    """Return a paragraph."""
    return f'<text:p text:style-name="{name}">{text}</text:p>'


def cell(text: str = "", attributes: str = "") -> str:
    """Return a cell of a table."""
    return f"<table:table-cell {attributes}>{p(text) if text else ''}</table:table-cell>"


def row(*cells: str, attributes: str = "") -> str:
    """Return a row of cells."""
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


COVERED = "<table:covered-table-cell/>"
