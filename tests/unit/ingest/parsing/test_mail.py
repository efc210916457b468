"""Mails say who wrote what to whom; what is attached is a member; sealed and broken ones end clearly."""

from __future__ import annotations

import base64
from email.message import EmailMessage
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import DocumentEncrypted, DocumentMalformed, DocumentRejected, DocumentTooLarge
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.mail.packed_rtf import unpacked_rtf
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import WarningCode
from tests.unit.ingest.fix_outlook import Storage, binary, properties, text, write_container
from tests.unit.ingest.fix_parsing import parse
from tests.unit.ingest.fix_pictures import drawn, file_of

HEADERS = (
    "From: Zo\u00e9 Martin <zoe@exemple.fr>\nTo: paie@exemple.fr\nDate: Tue, 3 Mar 2026 14:05:00 +0100\n"
    "Subject: =?utf-8?q?D=C3=A9lai_de_pr=C3=A9avis?=\nMIME-Version: 1.0\n"
)
SHOWN = (
    "De : Zoé Martin <zoe@exemple.fr>\nÀ : paie@exemple.fr\nDate : 3 mars 2026, 14:05 (UTC+01:00)\n"
    "Objet : Délai de préavis"
)


def read(path: Path, content: bytes | str, name: str = "mail.eml", **limits: int) -> ParsedDocument:
    (path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return parse(Source(path / name, name, limits=ParsingLimits(**limits), unpacked=path / "unpacked"))


def members(path: Path, document: ParsedDocument) -> dict[str, bytes]:
    return {member.name: (path / "unpacked" / str(n)).read_bytes() for n, member in enumerate(document.members)}


def written(plain: str = "Bonjour.", page: str = "") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "Zoé Martin <zoe@exemple.fr>", "paie@exemple.fr"
    message["Date"], message["Subject"] = "Tue, 3 Mar 2026 14:05:00 +0100", "Délai de préavis"
    message.set_content(plain)
    if page:
        message.add_alternative(page, subtype="html")
    return message


def test_a_mail_names_no_lines_for_its_text_is_not_its_file(tmp_path: Path) -> None:
    document = read(tmp_path, HEADERS + "\nBonjour.\n\nMerci.\n")
    assert document.places.places(0, len(document.text)) == ()


@pytest.mark.parametrize("name", ["iso-8859-1", "latin-1", "us-ascii", "windows-1252"])
def test_who_names_latin_1_means_what_windows_writes(tmp_path: Path, name: str) -> None:
    head = f"From: a@exemple.fr\nSubject: =?{name}?Q?L=92essai?=\nMIME-Version: 1.0\n"
    kind = f"Content-Type: text/plain; charset={name}\nContent-Transfer-Encoding: quoted-printable\n\n"
    document = read(tmp_path, head + kind + "C=92est dit.\n")
    assert document.title == "L’essai"
    assert "C’est dit." in document.text


def test_header_lines_are_text_and_metadata(tmp_path: Path) -> None:
    kind = "Content-Type: text/plain; charset=utf-8\n\n"
    document = read(tmp_path, HEADERS + kind + "Deux mois.\n\n> Combien ?\n>\n> Zoé")
    assert document.text == f"{SHOWN}\n\nDeux mois.\n\n> Combien ?\n\n> Zoé"
    assert document.title == "Délai de préavis"
    assert dict(document.metadata) == {
        "from": "Zoé Martin <zoe@exemple.fr>", "to": "paie@exemple.fr", "subject": "Délai de préavis",
        "date": "2026-03-03T14:05:00+01:00",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("charset", "named"),
    [("cp1252", "iso-8859-1"), ("utf-8", "inconnu"), ("cp1252", ""), ("utf-16", "utf-16"), ("cp850", "cp850")],
)
def test_character_sets_named_wrongly_or_not(tmp_path: Path, charset: str, named: str) -> None:
    said = f'; charset="{named}"' if named else ""
    body = "Le délai est payé dès réception, déjà prévu à l'été."
    content = HEADERS.replace("Zo\u00e9", "Zoe").encode() + f"Content-Type: text/plain{said}\n".encode()
    if charset == "utf-16":
        content += b"Content-Transfer-Encoding: base64\n\n" + base64.b64encode(body.encode(charset))
    else:
        content += b"Content-Transfer-Encoding: 8bit\n\n" + body.encode(charset)
    assert "délai est payé" in read(tmp_path, content).text


def test_the_page_is_taken_where_it_says_what_the_text_says(tmp_path: Path) -> None:
    page = "<p>Barème :</p><table><tr><th>Ville</th><th>Plafond</th></tr><tr><td>Lyon</td><td>130 €</td></tr></table>"
    document = read(tmp_path, written("Barème : Ville Plafond Lyon 130 €", page).as_bytes())
    assert "| Lyon | 130 € |" in document.text
    assert document.text.count("Barème") == 1
    plain = "Le plafond est de 130 € à Lyon, et de 150 € à Paris, petit déjeuner compris, depuis janvier."
    stub = read(tmp_path, written(plain, "<p>Votre lecteur…</p>").as_bytes())
    assert plain in stub.text


def test_flowed_lines_are_as_they_were_written(tmp_path: Path) -> None:
    text = "Content-Type: text/plain; format=flowed\n\nLe délai \nest de \ndeux mois.\nFin."
    assert read(tmp_path, HEADERS + text).text.endswith("Le délai est de deux mois.\nFin.")


def test_attachments_are_members_and_pictures_of_the_page_are_not(tmp_path: Path) -> None:
    message = written(page="<p>Bonjour.</p><img src='cid:logo'>")
    message.add_attachment(b"%PDF-1.7", maintype="application", subtype="pdf", filename="Barème été.pdf")
    message.add_attachment("notes", filename="notes.txt")
    message.add_attachment(b"x", maintype="application", subtype="octet-stream")
    message.add_attachment(b"s", maintype="application", subtype="pkcs7-signature", filename="smime.p7s")
    message.add_attachment(b"t", maintype="application", subtype="ms-tnef", filename="winmail.dat")
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", cid="<logo>", disposition="inline")
    message.add_attachment(written("Message transmis."))
    document = read(tmp_path, message.as_bytes())
    found = members(tmp_path, document)
    assert list(found) == ["Barème été.pdf", "notes.txt", "pièce jointe 3.bin", "Délai de préavis.eml"]
    assert b"Message transmis." in found["Délai de préavis.eml"]
    assert document.members[0].content_type == "application/pdf"
    assert document.text.endswith(
        "Pièces jointes : Barème été.pdf, notes.txt, pièce jointe 3.bin, Délai de préavis.eml"
    )
    assert {(warning.code, warning.count) for warning in document.warnings} == {
        (WarningCode.PICTURES, 1), (WarningCode.NOT_READ, 1),
    }  # fmt: skip


def test_apple_utf16_and_mailbox_forms(tmp_path: Path) -> None:
    plain = written().as_bytes()
    for content in (
        b"%d      \n%s<?xml version='1.0'?><plist/>" % (len(plain), plain), b"From zoe Tue Mar  3 14:05:00\n" + plain,
        plain.decode("ascii").encode("utf-16"),
    ):  # fmt: skip
        document = read(tmp_path, content)
        assert document.text == f"{SHOWN}\n\nBonjour."


def test_sealed_mails_are_told(tmp_path: Path) -> None:
    for kind in ("application/pkcs7-mime; smime-type=enveloped-data", "multipart/encrypted; boundary=x"):
        with pytest.raises(DocumentEncrypted, match="encrypted mail"):
            read(tmp_path, f"{HEADERS}Content-Type: {kind}\n\nMIAGCSqGSIb3")


@pytest.mark.parametrize("depth", [60, 3000])
def test_parts_nested_without_end_are_refused(tmp_path: Path, depth: int) -> None:
    parts = "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(depth))
    with pytest.raises(DocumentMalformed):
        read(tmp_path, HEADERS + parts + "Content-Type: text/plain\n\nfond")


def test_too_many_attachments_are_refused(tmp_path: Path) -> None:
    message = written()
    for n in range(6):
        message.add_attachment("x", filename=f"{n}.txt")
    with pytest.raises(DocumentTooLarge, match="more than 5 documents"):
        read(tmp_path, message.as_bytes(), members=5)


def test_odd_headers_end_clearly(tmp_path: Path) -> None:
    head = (
        "From: =?utf-8?b?w6k=?= =?x-unknown?q?=E9?= <a@b>\nSubject: =?utf-8?b?!!!?= " + "=?utf-8?q?" * 500 + "\n"
        "Date: not a date\nTo: " + "a@b.fr, " * 3000 + "\nContent-Type: text/plain; charset*=utf-8''x\n"
        "\nTexte."
    )
    document = read(tmp_path, head)
    assert document.text.endswith("Texte.")
    assert "Date : not a date" in document.text
    assert len(document.metadata["to"]) <= 500


def message_streams(**more: bytes) -> dict[str, bytes]:
    sent = (2026 - 1601) * 365 * 86_400 * 10_000_000
    return {
        **text(0x0037, "Budget"), **text(0x0C1A, "Zoé Martin"), **text(0x5D01, "zoe@exemple.fr"),
        **text(0x0E04, "Paie"), **text(0x1000, "Voici le budget."), **properties(32, sent=(0x40, 0x39, sent)), **more,
    }  # fmt: skip


def test_an_outlook_message(tmp_path: Path) -> None:
    attached: Storage = {
        "__attach_version1.0_#00000000": {
            **text(0x3707, "Barème.pdf"), **binary(0x3701, b"%PDF-1.7"), **properties(8, method=(3, 0x3705, 1)),
        },
        "__attach_version1.0_#00000001": {
            **text(0x3001, "Transmis"), **properties(8, method=(3, 0x3705, 5)),
            "__substg1.0_3701000D": {**text(0x0037, "Ancien"), **text(0x1000, "Dedans."), **properties(24)},
        },
        "__attach_version1.0_#00000002": {
            **text(0x3707, "logo.png"), **text(0x370E, "image/png"), **text(0x3712, "logo"),
            **binary(0x3701, b"\x89PNG"), **properties(8, method=(3, 0x3705, 1)),
        },
    }  # fmt: skip
    path = write_container(tmp_path / "m.msg", {**message_streams(), **attached})
    document = parse(Source(path, "m.msg", unpacked=tmp_path / "unpacked"))
    assert document.format == "msg"
    lines = document.text.split("\n")
    assert lines[0] == "De : Zoé Martin <zoe@exemple.fr>"
    assert lines[1] == "À : Paie"
    assert lines[2].startswith("Date : ")
    assert "Voici le budget." in lines
    found = members(tmp_path, document)
    assert list(found) == ["Barème.pdf", "Transmis.eml"]
    assert "Dedans." in read(tmp_path, found["Transmis.eml"], "dedans.eml").text
    assert [(warning.code, warning.count) for warning in document.warnings] == [(WarningCode.PICTURES, 1)]


def test_an_outlook_message_cut_short(tmp_path: Path) -> None:
    path = write_container(tmp_path / "m.msg", message_streams())
    for size in (700, 1500, path.stat().st_size - 600):
        (tmp_path / "court.msg").write_bytes(path.read_bytes()[:size])
        with pytest.raises(DocumentRejected):
            parse(Source(tmp_path / "court.msg", "court.msg"))


def test_packed_rtf_is_unpacked() -> None:
    # The example of the specification (MS-OXRTFCP, 3.1).
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert unpacked_rtf(packed) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert unpacked_rtf(packed[:30]).startswith(b"{\\rtf1")
    assert unpacked_rtf(b"x") == b""


def test_an_invitation_says_when_and_where(tmp_path: Path) -> None:
    mail = written("Vous êtes invité.")
    mail.add_alternative(
        "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nSUMMARY:Réunion\r\n  budget\r\n"
        "DTSTART;TZID=Europe/Paris:20260312T140000\r\nDTEND:20260312T140000Z\r\nLOCATION:Salle 4\\, siège\r\n"
        "ORGANIZER;CN=Zoé Martin:mailto:zoe@exemple.fr\r\n"
        "BEGIN:VALARM\r\nDESCRIPTION:Rappel\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        subtype="calendar",
    )
    assert read(tmp_path, mail.as_bytes()).text.endswith(
        "Rendez-vous : Réunion budget\nDébut : 12 mars 2026, 14:00 (Europe/Paris)\nFin : 12 mars 2026, 14:00 (UTC)\n"
        "Lieu : Salle 4, siège\nOrganisateur : Zoé Martin <zoe@exemple.fr>"
    )


def test_a_mail_that_is_an_invitation_alone(tmp_path: Path) -> None:
    event = "BEGIN:VEVENT\nSTATUS:CANCELLED\nDTSTART;VALUE=DATE:20260714\nEND:VEVENT"
    calendar = f"BEGIN:VCALENDAR\n{event}\nEND:VCALENDAR\n"
    document = read(tmp_path, f"{HEADERS}Content-Type: text/calendar; charset=utf-8\n\n{calendar}")
    assert document.text == f"{SHOWN}\n\nÉtat : annulé\nDébut : 14 juillet 2026"
    assert not document.members


def test_pictures_that_the_page_names_are_taken_and_others_told(tmp_path: Path) -> None:
    mail = EmailMessage()
    mail.set_content("<p>Le plan : <img src='cid:plan@1'></p>", subtype="html")
    plan = file_of(drawn("Plan"))
    for identifier, content in (("plan@1", plan), ("autre@1", file_of(drawn("Autre")))):
        mail.add_related(content, "image", "png", cid=f"<{identifier}>", disposition="inline")
    (tmp_path / "m.eml").write_bytes(mail.as_bytes())
    document = parse(Source(tmp_path / "m.eml", "m.eml", ocr=True))
    assert [each.content for each in document.pictures] == [plan]
    assert [(each.code, each.count) for each in document.warnings] == [(WarningCode.PICTURES, 1)]
