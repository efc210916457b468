"""A mail as it is shown, whichever program stored it: header lines, text, and what is attached."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from sourcier.services.chassis.cleaning import clean, clean_line
from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.containers.members import MembersWriter
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.markup.reader import append_page
from sourcier.services.ingest.parsing.pictures.embedded import EmbeddedPictures
from sourcier.services.ingest.parsing.sheets.dates import FRENCH_MONTHS
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.light import add_text
from sourcier.services.ingest.reading_warnings import WarningCode

_LABELS = {"from": "De", "to": "À", "cc": "Cc", "date": "Date", "subject": "Objet"}
_CID = "cid:"
_ATTACHED_LEAD = "Pièces jointes :"
_QUOTED_BLANK = re.compile(r"^[>| \t]++$", re.M)
_PAGE_SHARE = 0.5
"""A page that says less than this share of the plain text beside it is a stub: the plain text is taken."""
_SUBJECT_CHARACTERS_MAX = 500


@dataclass(slots=True)
class Attachment:
    """A file that came with a mail."""

    name: str
    content: bytes
    content_type: str = ""


@dataclass(slots=True)
class Body:
    """One part of a mail's text, in the forms it came in."""

    plain: str = ""
    page: str = ""
    """As HTML."""


@dataclass(slots=True)
class Letter:
    """A mail that was taken apart; headers by `from`, `to`, `cc`, `date` and `subject`."""

    headers: Mapping[str, str]
    moment: dt.datetime | None = None
    bodies: list[Body] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    invitations: list[str] = field(default_factory=list)
    """What calendars say that came as a part of the text."""
    inline: dict[str, bytes] = field(default_factory=dict)
    """Pictures that the page may name, by their identifiers."""
    pictures: int = 0
    """Others that are part of the page."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """What is attached and not read: its name, and why."""


def letter_document(letter: Letter, source: Source, *, kind: Format) -> ParsedDocument:
    """Return a mail as a document: header lines first, what is attached last."""
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    shown = {**letter.headers, "date": shown_moment(letter.moment) or letter.headers.get("date", "")}
    lines = [f"{label} : {clean_line(shown[name])}" for name, label in _LABELS.items() if shown.get(name)]
    builder.add(BlockKind.PARAGRAPH, "\n".join(lines))
    named: set[str] = set()
    for body in letter.bodies:
        _append_body(body, letter.inline, named, source, builder)
    for invitation in letter.invitations:
        builder.add(BlockKind.PARAGRAPH, invitation)
    builder.warnings.add(WarningCode.PICTURES, count=letter.pictures + len(letter.inline.keys() - named))
    writer = MembersWriter(source, builder)
    for attachment in letter.attachments:
        writer.add(attachment.name, [attachment.content], content_type=attachment.content_type)
    for name, why in letter.left_out:
        writer.leave_out(name, why)
    if builder.members:
        names = ", ".join(member.name for member in builder.members)
        builder.leave_headings()
        builder.add(BlockKind.PARAGRAPH, f"{_ATTACHED_LEAD} {names}")
    builder.metadata.update(_metadata(letter))
    subject = letter.headers.get("subject", "")[:_SUBJECT_CHARACTERS_MAX]
    return builder.build(format=kind, filename=source.filename, titles=(source.title, subject))


def shown_moment(moment: dt.datetime | None) -> str:
    """Return a moment as people write it: `3 mars 2026, 14:05 (UTC+01:00)`."""
    if moment is None:
        return ""
    zone = f" (UTC{moment.strftime('%z')[:3]}:{moment.strftime('%z')[3:5]})" if moment.utcoffset() is not None else ""
    return f"{moment.day} {FRENCH_MONTHS[moment.month - 1]} {moment.year}, {moment:%H:%M}{zone}"


def _metadata(letter: Letter) -> dict[str, str]:
    found = {name: letter.headers.get(name, "") for name in ("from", "to", "cc", "subject")}
    return {**found, "date": letter.moment.isoformat() if letter.moment else letter.headers.get("date", "")}


def _append_body(
    body: Body, inline: Mapping[str, bytes], named: set[str], source: Source, builder: DocumentBuilder
) -> None:
    """Append a text with its pictures; the identifiers of those are put among the `named` ones."""

    def picture(address: str) -> bytes | None:
        identifier = unquote(address[len(_CID) :]) if address[: len(_CID)].lower() == _CID else ""
        if identifier not in inline:
            return None
        named.add(identifier)
        return inline[identifier]

    plain = _QUOTED_BLANK.sub("", clean(body.plain)).strip()
    if body.page.strip():
        page = DocumentBuilder(source.limits, pictures=builder.pictures)
        try:
            append_page(body.page, source, page, files=picture)
        except DocumentMalformed:
            page = DocumentBuilder(source.limits)  # the plain text is there, or nothing is
        if page.length >= len(plain) * _PAGE_SHARE and page.length:
            builder.take(page)
            return
    add_text(builder, plain)
