"""RTF says what its pages show, in whichever encoding; broken and hostile files end clearly."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.services.chassis.errors import DocumentEmpty, DocumentMalformed
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import WarningCode
from tests.unit.ingest.fix_parsing import parse
from tests.unit.ingest.fix_pictures import drawn, file_of

HEAD = r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Arial;}}"
FONTS = r"{\rtf1\ansi{\fonttbl{\f0 A;}{\f1\fcharset161 G;}{\f2\fcharset128 J;}{\f3\fnil\fcharset2 Wingdings;}}"


def read(path: Path, body: str | bytes, *, head: str = HEAD) -> ParsedDocument:
    content = body if isinstance(body, bytes) else body.encode("latin-1")
    (path / "a.rtf").write_bytes(head.encode() + content + b"}")
    return parse(Source(path / "a.rtf", "a.rtf"))


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        (HEAD, r"d\'e9lai de 12\~\'80, c\u339\'9cur \emdash  \lquote ici\rquote", "délai de 12\u00a0€, cœur — ‘ici’"),
        (r"{\rtf1\ansi\ansicpg1251 ", r"\'cf\'f0\'e8\'e2\'e5\'f2", "Привет"),
        (r"{\rtf1\mac ", r"\'8et\'8e", "été"),
        (FONTS, r"\f1\'e1\'e2\f0  et \f2\'93\'fa\'96\'7b", "αβ et 日本"),
        (FONTS, r"{\f3\'fe} oui {\f3 \u-3928?} non", "☒ oui ☐ non"),
        (r"{\rtf1\ansi\uc2 ", r"\u233\'c3\'a9t\u233 ??e \u-10179 ??\u-8704 ??", "étée 😀"),
        (r"{\rtf1\ansi\uc0 ", r"\u233 t\u233 ", "été"),
        (r"{\rtf1\ansi ", r"a\{b\}\\c\-d\_e", r"a{b}\cd-e"),
    ],
)
def test_encodings(tmp_path: Path, head: str, body: str, text: str) -> None:
    assert read(tmp_path, body, head=head).text == text


def test_looks(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        r"Le 1{\super er} mai, 12 m{\super 2} de CO{\sub 2} : 19{\up8 3} jours.\par{\strike 74 \'80} 81 \'80"
        r"{\v marge 40 %}\par{\deleted soixante }trente{\fs2 petit}",
    )
    assert document.text == "Le 1er mai, 12 m² de CO₂ : 19 [3] jours.\n\n~~74 €~~ 81 €\n\ntrente"
    assert [warning.code for warning in document.warnings] == [WarningCode.HIDDEN_TEXT]


def test_headings_lists_notes_headers_and_title(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        r"{\stylesheet{\s0 Normal;}{\s1 heading 1;}{\s2\outlinelevel1 Sous-titre;}}"
        r"{\info{\title R\'e8glement int\'e9rieur}{\author Z}}"
        r"{\header PR-0482}{\footer \pard p. {\field{\*\fldinst PAGE}{\fldrslt 1}}}"
        r"\pard\s1{\listtext Article 1 \endash\tab}Cong\'e9s\par\pard Le d\'e9lai est de 2 mois"
        r"{\super\chftn{\footnote\pard{\super\chftn} Un mois en Alsace.}}. Il court.\par"
        r"\pard{\listtext\f3\'b7\tab}un\par{\listtext\ilvl1 a)\tab}\ilvl1 deux\par\pard\s2 Report\par"
        r"{\field{\*\fldinst HYPERLINK x}{\fldrslt lien}}{\pict\pngblip 89504e47}{\*\inconnu caché}",
    )
    assert document.title == "Règlement intérieur"
    assert document.text == (
        "En-tête : PR-0482\n\nPied de page : p. 1\n\nArticle 1 – Congés\n\n"
        "Le délai est de 2 mois [note 1]. (Note 1 : Un mois en Alsace.) Il court.\n\n- un\n  a) deux\n\nReport\n\nlien"
    )
    assert [block.kind for block in document.blocks].count(BlockKind.HEADING) == 2


def test_tables(tmp_path: Path) -> None:
    def row(*cells: tuple[str, int, str]) -> str:
        shapes = "".join(rf"{flags}\cellx{edge}" for _, edge, flags in cells)
        return r"\trowd" + shapes + r"\pard\intbl " + "".join(text + r"\cell " for text, _, _ in cells) + r"\row"

    document = read(
        tmp_path,
        r"Avant\par"
        + row(("Ville", 1000, r"\clvmgf"), ("Semestre", 3000, ""))
        + row(("", 1000, r"\clvmrg"), ("Neuf", 2000, ""), ("Occasion", 3010, ""))
        + row(("Paris", 1000, ""), ("120 \\'80", 2000, ""), ("", 3000, ""))
        + r"\pard Apr\'e8s",
    )
    assert document.text == (
        "Avant\n\n| Ville | Semestre – Neuf | Semestre – Occasion |\n|---|---|---|\n| Paris | 120 € |  |\n\nAprès"
    )


def test_form_boxes_and_text_boxes(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        r"{\field{\*\fldinst FORMCHECKBOX {\*\formfield{\fftype1\ffres1\ffdefres0}}}{\fldrslt}} pay\'e9 "
        r"{\field{\*\fldinst FORMCHECKBOX {\*\formfield{\fftype1\ffres25\ffdefres0}}}{\fldrslt}} d\'fb\par "
        r"Texte{\shp{\*\shpinst\shpleft0{\sp{\sn a}{\sv 1}}{\shptxt Encadr\'e9\par}}}\par",
    )
    assert document.text == "☒ payé ☐ dû\n\nTexte\n\nEncadré"


def test_html_that_was_made_rtf_is_html_again(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        r"{\*\htmltag64 <p>}\htmlrtf \par\htmlrtf0 D\'e9lai : {\*\htmltag84 <b>}"
        r"deux < trois mois{\*\htmltag92 </b>}{\*\htmltag72 </p>}",
        head=r"{\rtf1\ansi\ansicpg1252\fromhtml1 ",
    )
    assert document.text == "Délai : deux < trois mois"


def test_binary_data_and_pictures_are_passed_over(tmp_path: Path) -> None:
    document = read(tmp_path, rb"avant {\pict\bin9 }}}{{\par1}apr\'e8s {\object{\*\objdata 0105}{\result vu}}")
    assert document.text == "avant après vu"


@pytest.mark.parametrize("body", ["{" * 6000, r"{\*\x " * 6000])
def test_groups_without_end_are_refused(tmp_path: Path, body: str) -> None:
    with pytest.raises(DocumentMalformed, match="nested"):
        read(tmp_path, body)


def test_broken_files_give_what_they_hold(tmp_path: Path) -> None:
    assert read(tmp_path, r"}}}} reste \'zz \cell\row\u99999999999999 {\b").text.startswith("reste")
    with pytest.raises(DocumentEmpty):
        read(tmp_path, "")


def test_a_link_and_a_picture(tmp_path: Path) -> None:
    picture = file_of(drawn("Plan")).hex()
    body = (
        r"Voir {\field{\*\fldinst HYPERLINK \"https://ex.fr\"}{\fldrslt le site}}.\par "
        r"{\*\shppict{\pict\picw640\pich240\pngblip " + picture + r"}}{\nonshppict{\pict\wmetafile8 0102}}\par Fin\par"
    )
    (tmp_path / "b.rtf").write_bytes(f"{HEAD}{body}}}".encode())
    document = parse(Source(tmp_path / "b.rtf", "b.rtf", ocr=True))
    assert document.text == "Voir le site (https://ex.fr).\n\nFin"
    assert [each.content.hex() for each in document.pictures] == [picture]
