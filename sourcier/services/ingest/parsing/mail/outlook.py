"""Mails as Outlook stores them (MS-OXMSG): properties in the streams of an OLE container."""

from __future__ import annotations

import datetime as dt
import email.utils
import re
import struct
from dataclasses import dataclass
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import olefile

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.mail.letter import Attachment, Body, Letter, letter_document
from sourcier.services.ingest.parsing.mail.packed_rtf import unpacked_rtf
from sourcier.services.ingest.parsing.rich_text.reader import rtf_texts
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.encodings import decoded_text

_SUBJECT, _BODY, _PAGE, _PACKED_RTF = 0x0037, 0x1000, 0x1013, 0x1009
_SENDER, _SENDER_ADDRESS, _SENDER_SMTP, _TO, _CC = 0x0C1A, 0x0C1F, 0x5D01, 0x0E04, 0x0E03
_SENT, _RECEIVED, _CODE_PAGE = 0x0039, 0x0E06, 0x3FFD
_DISPLAY_NAME, _LONG_NAME, _SHORT_NAME, _DATA, _MEDIA_TYPE, _CONTENT_ID = 0x3001, 0x3707, 0x3704, 0x3701, 0x370E, 0x3712
_METHOD, _HIDDEN = 0x3705, 0x7FFE
_EMBEDDED, _OLE_OBJECT, _REFERENCES = 5, 6, (2, 3, 4, 7)
_UNICODE, _BYTES, _STRING8, _TIME, _LONG, _BOOLEAN = 0x001F, 0x0102, 0x001E, 0x0040, 0x0003, 0x000B
_HEADER_BYTES = {"top": 32, "embedded": 24, "other": 8}
_EPOCH = dt.datetime(1601, 1, 1, tzinfo=dt.UTC)
_ATTACHMENT = re.compile(r"__attach_version1\.0_#[0-9A-F]{8}", re.I)
_DEPTH_MAX = 10
_BROKEN = (OSError, ValueError, struct.error, IndexError, KeyError, TypeError, AttributeError, RecursionError)


def parse_outlook(source: Source) -> ParsedDocument:
    """Read an Outlook message."""
    try:
        with olefile.OleFileIO(str(source.path)) as container:
            letter = _letter(_Storage(container, (), "top"), source.limits, depth=0)
    except _BROKEN as error:
        raise DocumentMalformed(f"“{source.filename}” is a damaged Outlook message: it was cut short.") from error
    return letter_document(letter, source, kind=Format.MSG)


@dataclass(slots=True)
class _Storage:
    """A folder of the container: a message, a recipient or an attachment."""

    container: olefile.OleFileIO
    path: tuple[str, ...]
    kind: str

    def stream(self, name: str) -> bytes | None:
        """Return a stream's bytes; None where there is none."""
        path = [*self.path, name]
        if not self.container.exists(path) or self.container.get_type(path) != olefile.STGTY_STREAM:
            return None
        with self.container.openstream(path) as stream:
            return bytes(stream.read())

    def binary(self, identifier: int, kind: int = _BYTES) -> bytes | None:
        """Return a property of any length."""
        return self.stream(f"__substg1.0_{identifier:04X}{kind:04X}")

    def text(self, identifier: int) -> str:
        """Return a property that is a text, in whichever form it is stored."""
        wide = self.binary(identifier, _UNICODE)
        if wide is not None:
            return wide.decode("utf-16-le", "replace").rstrip("\x00")
        narrow = self.binary(identifier, _STRING8)
        return _narrow(narrow, self.number(_CODE_PAGE)).rstrip("\x00") if narrow else ""

    def fixed(self, identifier: int, kind: int) -> bytes | None:
        """Return the eight bytes of a property of fixed length."""
        properties = self.stream("__properties_version1.0") or b""
        start = _HEADER_BYTES[self.kind]
        for at in range(start, len(properties) - 15, 16):
            found_kind, found = struct.unpack_from("<HH", properties, at)
            if found == identifier and found_kind == kind:
                return properties[at + 8 : at + 16]
        return None

    def number(self, identifier: int) -> int:
        """Return a whole number, 0 where there is none."""
        value = self.fixed(identifier, _LONG)
        return int.from_bytes(value[:4], "little") if value else 0

    def moment(self, identifier: int) -> dt.datetime | None:
        """Return a moment; None where there is none."""
        value = self.fixed(identifier, _TIME)
        ticks = int.from_bytes(value, "little") if value else 0
        try:
            return (_EPOCH + dt.timedelta(microseconds=ticks // 10)).replace(microsecond=0) if ticks else None
        except OverflowError:
            return None

    def attachments(self) -> list[_Storage]:
        """Return the storages of the attachments, in their order."""
        depth = len(self.path)
        found = {
            entry[depth] for entry in self.container.listdir(streams=True, storages=True)
            if len(entry) > depth and tuple(entry[:depth]) == self.path and _ATTACHMENT.fullmatch(entry[depth])
        }
        return [_Storage(self.container, (*self.path, name), "other") for name in sorted(found)]


def _letter(message: _Storage, limits: ParsingLimits, *, depth: int) -> Letter:
    address = message.text(_SENDER_SMTP) or message.text(_SENDER_ADDRESS)
    sender = message.text(_SENDER)
    if "@" in address and address not in sender:
        sender = f"{sender} <{address}>".strip()
    moment = message.moment(_SENT) or message.moment(_RECEIVED)
    headers = {"from": sender, "to": message.text(_TO), "cc": message.text(_CC), "subject": message.text(_SUBJECT)}
    letter = Letter({name: value for name, value in headers.items() if value}, moment)
    letter.bodies.append(_body(message, limits))
    for storage in message.attachments():
        _attach(storage, letter, limits, depth)
    return letter


def _body(message: _Storage, limits: ParsingLimits) -> Body:
    page = message.binary(_PAGE)
    html = decoded_text(page).text if page else message.text(_PAGE)
    plain = message.text(_BODY)
    if not html:
        packed = message.binary(_PACKED_RTF)
        rtf = unpacked_rtf(packed) if packed else b""
        if rtf:
            html, written = rtf_texts(rtf, limits)
            plain = plain if plain.strip() else written
    return Body(plain=plain, page=html)


def _attach(storage: _Storage, letter: Letter, limits: ParsingLimits, depth: int) -> None:
    name = storage.text(_LONG_NAME) or storage.text(_SHORT_NAME) or storage.text(_DISPLAY_NAME)
    method = storage.number(_METHOD)
    if method == _EMBEDDED:
        _embedded(storage, letter, name, limits, depth)
        return
    content = storage.binary(_DATA)
    kind = storage.text(_MEDIA_TYPE)
    hidden = storage.fixed(_HIDDEN, _BOOLEAN)
    if method == _OLE_OBJECT or (content is not None and _is_inline(storage, kind, hidden)):
        letter.pictures += 1
    elif content is None or method in _REFERENCES:
        letter.left_out.append((name, "kept elsewhere, not in the mail"))
    else:
        number = len(letter.attachments) + 1
        letter.attachments.append(Attachment(name or f"pièce jointe {number}", content, kind))


def _is_inline(storage: _Storage, kind: str, hidden: bytes | None) -> bool:
    picture = kind.startswith("image/")
    return picture and (bool(hidden and hidden[0]) or bool(storage.text(_CONTENT_ID)))


def _embedded(storage: _Storage, letter: Letter, name: str, limits: ParsingLimits, depth: int) -> None:
    """Attach what a mail inside this one says, as a mail that travels: it is read as one."""
    if depth >= _DEPTH_MAX:
        letter.left_out.append((name, "nested too deeply"))
        return
    path = (*storage.path, f"__substg1.0_{_DATA:04X}000D")
    inner = _letter(_Storage(storage.container, path, "embedded"), limits, depth=depth + 1)
    name = (name or inner.headers.get("subject", "") or "message").replace("/", "-").replace("\\", "-")
    letter.attachments.append(Attachment(f"{name}.eml", _as_message(inner), "message/rfc822"))


def _as_message(letter: Letter) -> bytes:
    message = MIMEMultipart()
    for name, value in letter.headers.items():
        message[name.capitalize()] = " ".join(value.split())
    if letter.moment:
        message["Date"] = email.utils.format_datetime(letter.moment)
    for body in letter.bodies:
        forms = MIMEMultipart("alternative")
        for text, subtype in ((body.plain, "plain"), (body.page, "html")):
            if text:
                forms.attach(MIMEText(text.encode(errors="replace").decode(), subtype, "utf-8"))
        message.attach(forms)
    for attachment in letter.attachments:
        part = MIMEApplication(attachment.content)
        part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", attachment.name))
        message.attach(part)
    return message.as_bytes()


def _narrow(content: bytes, code_page: int) -> str:
    try:
        return content.decode(f"cp{code_page}" if code_page else "utf-8")
    except (LookupError, UnicodeDecodeError):
        return decoded_text(content).text
