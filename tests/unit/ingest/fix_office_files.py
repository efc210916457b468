"""Office files written part by part: what Word, Excel and PowerPoint write, and the libraries do not."""

from __future__ import annotations

import zipfile
from pathlib import Path

_TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
_RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD_NAMESPACES = " ".join(
    f'xmlns:{prefix}="{namespace}"'
    for prefix, namespace in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
        "r": _OFFICE,
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "v": "urn:schemas-microsoft-com:vml",
    }.items()
)
STYLES = (
    '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Titre1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="character" w:styleId="Barre"><w:name w:val="Barré"/><w:rPr><w:strike/></w:rPr></w:style>'
)


def write_archive(path: Path, parts: dict[str, str | bytes]) -> Path:
    """Write a ZIP archive of these parts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return path


def relationships(**named: str) -> str:
    """Return a part of relationships: an identifier to its kind and target, with a blank between."""
    entries = (
        f'<Relationship Id="{identifier}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for identifier, (kind, target) in ((identifier, value.split(" ", 1)) for identifier, value in named.items())
    )
    return f'<Relationships xmlns="{_RELATIONSHIPS}">{"".join(entries)}</Relationships>'


def write_word(path: Path, body: str, *, namespaces: str = _WORD_NAMESPACES, **parts: str) -> Path:
    """Write a Word document: the content of its body, and of further parts, each by its kind."""
    written: dict[str, str | bytes] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": relationships(r1="officeDocument word/document.xml"),
        "word/document.xml": f"<w:document {namespaces}><w:body>{body}</w:body></w:document>",
    }
    roots = {"numbering": "numbering", "footnotes": "footnotes", "endnotes": "endnotes", "settings": "settings"}
    kinds = {"header": "hdr", "footer": "ftr", "comments": "comments", "styles": "styles", **roots}
    parts.setdefault("styles", STYLES)
    for kind, content in parts.items():
        root = kinds[kind.rstrip("0123456789")]
        written[f"word/{kind}.xml"] = f"<w:{root} {namespaces}>{content}</w:{root}>"
    written["word/_rels/document.xml.rels"] = relationships(
        **{kind: f"{kind.rstrip('0123456789')} {kind}.xml" for kind in parts}
    )
    return write_archive(path, written)


def paragraph(*runs: str, properties: str = "") -> str:
    """Return a paragraph of runs; a run without markup is text."""
    texts = (run if run.startswith("<") else text_run(run) for run in runs)
    return f"<w:p>{f'<w:pPr>{properties}</w:pPr>' if properties else ''}{''.join(texts)}</w:p>"


def text_run(text: str, properties: str = "") -> str:
    """Return a run with its properties."""
    own = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{own}<w:t xml:space="preserve">{text}</w:t></w:r>'


def table(*rows: str) -> str:
    """Return a table of rows."""
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def cell(content: str, properties: str = "") -> str:
    """Return a cell: of text, or of blocks."""
    inner = content if content.startswith(("<w:p", "<w:tbl")) else paragraph(content)
    return f"<w:tc>{f'<w:tcPr>{properties}</w:tcPr>' if properties else ''}{inner}</w:tc>"
