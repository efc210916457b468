"""Mails as they travel (RFC 5322 and MIME): the form of `.eml` files."""

from __future__ import annotations

import datetime as dt
import email.errors
import email.header
import email.message
import email.parser
import email.utils
import mimetypes
import re
from collections.abc import Iterator
from email.message import Message

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.chassis.errors import DocumentEncrypted, DocumentMalformed
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.mail.letter import Attachment, Body, Letter, letter_document
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.calendar import calendar_text
from sourcier.services.ingest.parsing.text.encodings import codec_meant, decoded_text

_SIGNATURES = frozenset({
    "application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature", "application/pgp-keys",
})  # fmt: skip
_SEALED = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_REPORTS = frozenset({"message/delivery-status", "message/disposition-notification", "text/rfc822-headers"})
_CALENDAR = "text/calendar"
_TNEF = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
_PARTS_MAX = 5_000
_DEPTH_MAX = 50
_HEADERS_MAX = 20
_HEADER_CHARACTERS_MAX = 20_000
_ENCODED_WORD = re.compile(r"=\?[^?\s]{1,40}\?[bBqQ]\?")
# Where a reader of mails sees a header: before, a mailbox's own line may stand.
_FIRST_LINE_BYTES = 1_000
_MAILBOX_LINE = b"From "


def parse_message(source: Source) -> ParsedDocument:
    """Read a mail; raise DocumentEncrypted for a sealed one."""
    content = source.read()
    if b"\x00" in content[:_FIRST_LINE_BYTES]:
        # Saved as UTF-16 by a program that takes a mail for a text.
        content = decoded_text(content).text.encode(errors="replace")
    first, _, rest = content[:_FIRST_LINE_BYTES].partition(b"\n")
    if content.startswith(_MAILBOX_LINE):
        content = content[len(first) + 1 :]
    elif first.strip().isdigit() and rest:
        # Apple's form: the number of bytes, the mail, and what the program notes of it.
        content = content[len(first) + 1 :][: int(first)]
    try:
        message = email.parser.BytesParser().parsebytes(content.lstrip(b"\r\n"))
        letter = _letter(message, source)
    except (RecursionError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise DocumentMalformed(f"“{source.filename}” cannot be read as a mail: its parts are damaged.") from error
    return letter_document(letter, source, kind=Format.EML)


def _letter(message: Message, source: Source) -> Letter:
    headers = {name: header_text(message, name) for name in ("from", "to", "cc", "date", "subject")}
    letter = Letter({name: value for name, value in headers.items() if value}, moment_of(headers["date"]))
    kind = message.get_content_type()
    sealed = kind in _SEALED and _parameter(message, "smime-type") != "signed-data"
    if sealed or kind == "multipart/encrypted":
        raise DocumentEncrypted(f"“{source.filename}” is an encrypted mail: save its text and attachments decrypted.")
    _Parts(letter).take(message)
    return letter


class _Parts:
    """Sorts the parts of a mail into texts, files and pictures."""

    def __init__(self, letter: Letter) -> None:
        self._letter = letter
        self._count = 0

    def take(self, part: Message, *, depth: int = 0) -> None:
        """Take a part with all below it."""
        self._count += 1
        if self._count > _PARTS_MAX or depth > _DEPTH_MAX:
            raise DocumentMalformed("The mail has more parts than any mail has, or they are nested too deeply.")
        kind = part.get_content_type()
        if kind == "message/rfc822" and depth:
            self._forwarded(part)
        elif kind == "multipart/alternative":
            self._alternatives(part, depth)
        elif part.is_multipart() and kind not in _REPORTS:
            for inner in _inner(part):
                self.take(inner, depth=depth + 1)
        else:
            self._leaf(part, kind)

    def _leaf(self, part: Message, kind: str) -> None:
        name = _filename(part)
        disposition = part.get_content_disposition()
        if kind in _SIGNATURES:
            return
        if kind in _TNEF:
            self._letter.left_out.append((name or "winmail.dat", "attachments packed by Outlook for Outlook"))
        elif kind in ("text/plain", "text/html") and disposition != "attachment" and not name:
            text = part_text(part)
            self._letter.bodies.append(Body(page=text) if kind == "text/html" else Body(plain=_unfolded(part, text)))
        elif kind == _CALENDAR and disposition != "attachment" and not name:
            self._letter.invitations.append(calendar_text(part_text(part)))
        elif kind in _REPORTS:
            self._letter.bodies.append(Body(plain=_report_text(part)))
        elif kind.startswith("image/") and disposition != "attachment" and (part.get("Content-ID") or not name):
            # Part of the page, which names it by its identifier.
            content = part.get_payload(decode=True)
            identifier = str(part.get("Content-ID") or "").strip("<> \t\r\n")
            if isinstance(content, bytes) and identifier:
                self._letter.inline[identifier] = content
            else:
                self._letter.pictures += 1
        else:
            self._attach(part, kind, name)

    def _attach(self, part: Message, kind: str, name: str) -> None:
        if not name:
            suffix = mimetypes.guess_extension(kind) or (".txt" if kind.startswith("text/") else ".bin")
            name = f"pièce jointe {len(self._letter.attachments) + 1}{suffix}"
        content = part.get_payload(decode=True)
        self._letter.attachments.append(Attachment(name, content if isinstance(content, bytes) else b"", kind))

    def _forwarded(self, part: Message) -> None:
        """Attach a mail that came inside this one, under its own subject."""
        for inner in _inner(part):
            name = _filename(part) or header_text(inner, "subject") or f"message {len(self._letter.attachments) + 1}"
            name = name.replace("/", "-").replace("\\", "-")
            name = name if name.lower().endswith(".eml") else f"{name}.eml"
            self._letter.attachments.append(Attachment(name, _as_bytes(inner), "message/rfc822"))

    def _alternatives(self, part: Message, depth: int) -> None:
        """Take one text that came in several forms: the forms beside each other, files with it as they come."""
        inner = _Parts(Letter({}))
        inner._count = self._count
        for form in _inner(part):
            inner.take(form, depth=depth + 1)
        self._count = inner._count
        found = inner._letter
        body = Body(
            plain="\n\n".join(filter(None, (text.plain for text in found.bodies))),
            page="\n".join(filter(None, (text.page for text in found.bodies))),
        )
        self._letter.bodies.append(body)
        for file in found.attachments:
            if file.content_type == _CALENDAR:
                # An invitation: the other forms say that there is one, and not always when and where.
                self._letter.invitations.append(calendar_text(decoded_text(file.content).text))
            else:
                self._letter.attachments.append(file)
        self._letter.pictures += found.pictures
        self._letter.invitations += found.invitations
        self._letter.inline.update(found.inline)
        self._letter.left_out += found.left_out


def _inner(part: Message) -> Iterator[Message]:
    payload = part.get_payload()
    if isinstance(payload, list):
        yield from (inner for inner in payload if isinstance(inner, Message))


def _as_bytes(message: Message) -> bytes:
    try:
        return message.as_bytes()
    except (UnicodeError, LookupError, ValueError, TypeError):
        return message.as_string().encode(errors="replace")


def part_text(part: Message) -> str:
    """Return the text of a part, in the character set that it names if that is what the bytes are."""
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    try:
        return content.decode(codec_meant(_parameter(part, "charset")) or "utf-8")
    except (LookupError, UnicodeError, ValueError):
        return decoded_text(content).text


def _unfolded(part: Message, text: str) -> str:
    """Return a text whose lines were broken for travelling (RFC 3676) as it was written."""
    if (_parameter(part, "format") or "").lower() != "flowed":
        return text
    lines: list[list[str]] = []
    flowing = False
    for line in text.replace("\r\n", "\n").split("\n"):
        quoted = line.startswith(">")
        line = line if quoted else line.removeprefix(" ")
        if flowing and line and line != "-- " and quoted == lines[-1][0].startswith(">"):
            lines[-1].append(line.lstrip("> ") if quoted else line)
        else:
            lines.append([line])
        flowing = line.endswith(" ") and line != "-- "
    return "\n".join(map("".join, lines))


def _report_text(part: Message) -> str:
    if not part.is_multipart():
        return part_text(part)
    groups = ([f"{name}: {decoded_header(str(value))}" for name, value in inner.items()] for inner in _inner(part))
    return "\n\n".join("\n".join(lines) for lines in groups)


def _filename(part: Message) -> str:
    try:
        found = part.get_filename()
    except (LookupError, UnicodeError, ValueError, TypeError):
        return ""
    return clean_line(decoded_header(found or ""))


def _parameter(part: Message, name: str) -> str:
    try:
        found = part.get_param(name)
    except (LookupError, UnicodeError, ValueError):
        return ""
    if isinstance(found, tuple):
        return email.utils.collapse_rfc2231_value(found)
    return found or ""


def header_text(message: Message, name: str) -> str:
    """Return all header lines of a name, decoded, on one line."""
    # As they came: the library itself gives up bytes beyond ASCII.
    found = [value for own, value in message.raw_items() if own.lower() == name][:_HEADERS_MAX]
    values = (decoded_header(str(value)) for value in found)
    return ", ".join(filter(None, map(clean_line, values)))


def decoded_header(value: str) -> str:
    """Return a header's value with its encoded words as text; bytes beyond ASCII are read as they are likely meant."""
    value = value[:_HEADER_CHARACTERS_MAX]
    if any("\udc80" <= character <= "\udcff" for character in value):
        value = decoded_text(value.encode("utf-8", "surrogateescape")).text
    if not _ENCODED_WORD.search(value):
        return value
    try:
        parts = email.header.decode_header(value)
    except (email.errors.HeaderParseError, ValueError):
        return value
    return "".join(_decoded(part, charset) for part, charset in parts)


def _decoded(part: bytes | str, charset: str | None) -> str:
    if isinstance(part, str):
        return part
    try:
        return part.decode(codec_meant(charset or "") or "utf-8")
    except (LookupError, UnicodeError, ValueError):
        return decoded_text(part).text


def moment_of(value: str) -> dt.datetime | None:
    """Return the moment that a date line names; None where it names none."""
    try:
        return email.utils.parsedate_to_datetime(value) if value else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
