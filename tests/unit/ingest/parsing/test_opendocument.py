"""OpenDocument texts, spreadsheets and presentations say what their pages show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sourcier.services.chassis.errors import DocumentEncrypted, DocumentMalformed, DocumentRejected, DocumentTooLarge
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import WarningCode
from tests.unit.ingest.fix_opendocument import COVERED, NAMESPACES, cell, list_style, p, row, style, write_opendocument
from tests.unit.ingest.fix_parsing import parse

ARTICLES = list_style(
    "L1",
    'style:num-format="1" style:num-prefix="Article " style:num-suffix=" –"',
    'style:num-format="1" text:display-levels="2"',
    'style:num-format="a" style:num-suffix=")"',
)


def read(path: Path, kind: str, body: str, **parts: Any) -> ParsedDocument:
    suffix = {"text": "odt", "spreadsheet": "ods", "presentation": "odp"}[kind]
    written = write_opendocument(path / f"a.{suffix}", kind, body, **parts)
    return parse(Source(written, written.name))


def items(*texts: str) -> str:
    return "".join(f"<text:list-item>{text}</text:list-item>" for text in texts)


def listed(*texts: str) -> str:
    return f"<text:list>{items(*texts)}</text:list>"


def test_headings_have_their_shown_numbers(tmp_path: Path) -> None:
    outline = (
        '<text:outline-style style:name="Outline"><text:outline-level-style text:level="1" style:num-format="I" '
        'style:num-suffix="."/><text:outline-level-style text:level="2" style:num-format="1" '
        'text:display-levels="2"/></text:outline-style>'
    )
    h = '<text:h text:outline-level="{}">{}</text:h>'.format
    document = read(
        tmp_path, "text",
        p("Guide", "Title") + h(1, "Congés") + p("Du texte.") + h(2, "Report") + h(1, "Paie") + h(2, "Prime"),
        styles=outline + style("Title", "paragraph", more='style:display-name="Titre"'),
    )  # fmt: skip
    assert document.text == "Guide\n\nI. Congés\n\nDu texte.\n\nI.1 Report\n\nII. Paie\n\nII.1 Prime"
    assert document.blocks[-1].heading_path == ("Guide", "II. Paie", "II.1 Prime")


def test_lists_have_their_shown_numbers(tmp_path: Path) -> None:
    deepest = listed(p("un"), p("deux"))
    inner = listed(p("Le siège"), p("La durée") + deepest)
    document = read(
        tmp_path, "text",
        f'<text:list xml:id="l1" text:style-name="L1">{items(p("Objet") + p("suite"), p("Forme") + inner)}</text:list>'
        + p("Entre deux.")
        + f'<text:list text:continue-list="l1" text:style-name="L1">{items(p("Sanctions"))}</text:list>'
        + f'<text:list text:style-name="L1">{items(p("Nouveau"))}</text:list>'
        + f'<text:list text:style-name="L2">{items(p("puce"))}</text:list>',
        automatic=ARTICLES + list_style("L2", ""),
    )  # fmt: skip
    assert document.text.split("\n") == [
        "Article 1 – Objet", "", "suite", "", "Article 2 – Forme", "  2.1 Le siège", "  2.2 La durée", "    a) un",
        "    b) deux", "", "Entre deux.", "", "Article 3 – Sanctions", "Article 1 – Nouveau", "- puce",
    ]  # fmt: skip


def test_raised_struck_hidden_and_symbols(tmp_path: Path) -> None:
    span = '<text:span text:style-name="{}">{}</text:span>'.format
    document = read(
        tmp_path, "text",
        p(f"Le 1{span('up', 'er')} mai, 12 m{span('up', '2')} de CO{span('down', '2')} : 19{span('up', '3')} jours.")
        + p(f"{span('struck', '74 €')} 81 €{span('hidden', ' marge 40 %')}")
        + p(f"{span('wing', chr(0xFE))} payé {span('wing', chr(0xA8))} dû")
        + p("a<text:s text:c='3'/>b<text:tab/>c   d"),
        automatic=style("up", "text", 'style:text-position="super 58%"')
        + style("down", "text", 'style:text-position="-33% 58%"')
        + style("struck", "text", 'style:text-line-through-style="solid"')
        + style("hidden", "text", 'text:display="none"')
        + style("wing", "text", 'style:font-name="Wingdings"'),
    )  # fmt: skip
    assert document.text == "Le 1er mai, 12 m² de CO₂ : 19 [3] jours.\n\n~~74 €~~ 81 €\n\n☒ payé ☐ dû\n\na b c d"
    assert [warning.code for warning in document.warnings] == [WarningCode.HIDDEN_TEXT]


def test_a_note_follows_the_sentence_that_calls_it(tmp_path: Path) -> None:
    note = (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        f"<text:note-body>{p('neuf heures le dimanche')}</text:note-body></text:note>"
    )
    document = read(tmp_path, "text", p(f"Le délai est de quatre heures{note}. Il court."))
    assert document.text == "Le délai est de quatre heures [note 1]. (Note 1 : neuf heures le dimanche) Il court."


def test_tracked_changes_read_as_if_accepted(tmp_path: Path) -> None:
    changes = (
        f'<text:tracked-changes><text:changed-region text:id="c1"><text:deletion>{p("soixante")}</text:deletion>'
        "</text:changed-region></text:tracked-changes>"
    )
    text = p('Le délai est de <text:change text:change-id="c1"/><text:change-start/>trente<text:change-end/> jours.')
    assert read(tmp_path, "text", changes + text).text == "Le délai est de trente jours."


def test_tables_repeat_merged_cells_and_join_header_lines(tmp_path: Path) -> None:
    table = (
        "<table:table><table:table-header-rows>"
        + row(
            cell("Ville", 'table:number-rows-spanned="2"'),
            cell("Semestre", 'table:number-columns-spanned="2"'), COVERED,
        )
        + row(COVERED, cell("Neuf"), cell("Occasion"))
        + "</table:table-header-rows>"
        + row(cell("Paris"), cell("120 €"), cell("")) + row(cell("Lyon"), cell("90 €"), cell("70 €")) + "</table:table>"
    )  # fmt: skip
    document = read(tmp_path, "text", table)
    assert document.text.split("\n") == [
        "| Ville | Semestre – Neuf | Semestre – Occasion |", "|---|---|---|", "| Paris | 120 € |  |",
        "| Lyon | 90 € | 70 € |",
    ]  # fmt: skip
    assert document.blocks[0].kind is BlockKind.TABLE


def test_headers_boxes_forms_and_charts(tmp_path: Path) -> None:
    frame = f"<draw:frame><draw:text-box>{p('Encadré')}</draw:text-box></draw:frame>"
    chart = '<draw:frame><draw:object xlink:href="./Object 1"/><draw:image xlink:href="./1"/></draw:frame>'
    picture = '<draw:frame><draw:image xlink:href="Pictures/1.png"/></draw:frame>'
    forms = (
        '<office:forms><form:form><form:checkbox form:id="c1" form:label="J’accepte" form:current-state="checked"/>'
        '<form:text form:id="c2" form:current-value="Alice"/></form:form></office:forms>'
    )
    figures = row(cell(), cell("Ventes")) + row(cell("2024"), cell("12"))
    document = read(
        tmp_path, "text",
        forms + p('<draw:control draw:control="c1"/>') + p('Nom : <draw:control draw:control="c2"/>')
        + p(f"Texte.{frame}")
        + p(chart) + p(picture) + "<office:annotation><text:p>À revoir</text:p></office:annotation>",
        master=f'<style:master-page style:name="Standard"><style:header>{p("PR-0482")}</style:header>'
        f'<style:footer style:display="false">{p("caché")}</style:footer></style:master-page>'
        f'<style:master-page style:name="Autre"><style:header>{p("inutilisé")}</style:header></style:master-page>',
        objects={"Object 1/content.xml": f"<office:document-content {NAMESPACES}><office:body><chart:chart>"
                 f"<chart:title>{p('Par an')}</chart:title><table:table>{figures}</table:table></chart:chart>"
                 "</office:body></office:document-content>"},
    )  # fmt: skip
    assert document.text == (
        "En-tête : PR-0482\n\n☒ J’accepte\n\nNom : Alice\n\nTexte.\n\nEncadré\n\nGraphique : Par an\n\n"
        "|  | Ventes |\n|---|---|\n| 2024 | 12 |"
    )
    assert {(warning.code, warning.detail) for warning in document.warnings} == {
        (WarningCode.PICTURES, ""), (WarningCode.NOT_READ, "comments"),
    }  # fmt: skip


DATE = cell("09/04/26", 'office:value-type="date"')
FORMULA = cell("", 'table:formula="of:=TODAY()"')


def number(kind: str, stored: str, shown: str) -> str:
    return cell(shown, f'office:value-type="{kind}" office:value="{stored}"')


def test_sheets_show_cells_as_people_see_them(tmp_path: Path) -> None:
    sheet = (
        '<table:table table:name="Taux"><table:table-column/><table:table-column table:number-columns-repeated="2"/>'
        '<table:table-column table:visibility="collapse"/>'
        + row(cell("Ville"), cell("Taux"), cell("Date"), cell("Marge"))
        + row(cell("Paris"), number("percentage", "0.075", "7,5 %"), DATE, cell("secret"))
        + row(cell("Lyon"), number("percentage", "0.1", "10 %"), FORMULA, cell("secret"))
        + row(cell("Nice"), number("percentage", "0.2", "20 %"), attributes='table:visibility="collapse"')
        + row(cell("", 'table:number-columns-repeated="16384"'), attributes='table:number-rows-repeated="1048000"')
        + "</table:table>"
    )  # fmt: skip
    hidden = f'<table:table table:name="Secret" table:style-name="ta2">{row(cell("caché"))}</table:table>'
    document = read(
        tmp_path, "spreadsheet", sheet + hidden,
        automatic='<style:style style:name="ta2" style:family="table"><style:table-properties table:display="false"/>'
        "</style:style>",
    )
    assert document.text == (
        "Taux\n\n| Ville | Taux | Date |\n|---|---|---|\n| Paris | 7,5 % | 09/04/26 |\n| Lyon | 10 % | =TODAY() |\n\n"
        "Valeurs enregistrées, Taux : 0.075 ; 0.1"
    )
    told = {(warning.code, warning.detail): warning.places for warning in document.warnings}
    assert told == {
        (WarningCode.HIDDEN_CELLS, "sheets"): ("Secret",), (WarningCode.HIDDEN_CELLS, "rows"): ("Taux!4:4",),
        (WarningCode.HIDDEN_CELLS, "columns"): ("Taux!D:D",), (WarningCode.FORMULAS_WITHOUT_VALUE, ""): ("Taux!C3",),
    }  # fmt: skip


def test_a_sheet_that_repeats_itself_without_end_is_refused(tmp_path: Path) -> None:
    rows = row(cell("x", 'table:number-columns-repeated="16384"'), attributes='table:number-rows-repeated="1048576"')
    with pytest.raises(DocumentTooLarge, match="1,000,000 cells"):
        read(tmp_path, "spreadsheet", f'<table:table table:name="A">{rows}</table:table>')


def test_slides_have_their_title_first_and_notes_apart(tmp_path: Path) -> None:
    def frame(place: str, text: str, more: str = "") -> str:
        return (f'<draw:frame presentation:class="{place}" {more}><draw:text-box>{text}</draw:text-box></draw:frame>')

    empty = 'presentation:placeholder="true"'
    notes = f"<presentation:notes>{frame('notes', p('Insister sur le délai.'))}{frame('notes', p('x'), empty)}"
    shapes = (frame("outline", listed(p("un"), p("deux"))), frame("title", p("Sécurité")), frame("footer", p("p. 1")))
    first = f"<draw:page>{''.join(shapes)}{notes}</presentation:notes></draw:page>"
    second = f'<draw:page draw:style-name="dp2">{frame("title", p("Masquée"))}</draw:page>'
    group = f"<draw:g><draw:custom-shape>{p('Forme')}</draw:custom-shape></draw:g>"
    third = f"<draw:page>{frame('title', '', empty)}{group}</draw:page>"
    document = read(
        tmp_path, "presentation", first + second + third,
        automatic='<style:style style:name="dp2" style:family="drawing-page"><style:drawing-page-properties '
        'presentation:visibility="hidden"/></style:style>',
    )
    assert document.text == "Sécurité\n\n- un\n- deux\n\nNotes : Insister sur le délai.\n\nForme"
    assert document.page_count == 3
    assert [block.page for block in document.blocks] == [1, 1, 1, 1, 3]
    assert [(warning.code, warning.places) for warning in document.warnings] == [(WarningCode.HIDDEN_TEXT, ("2",))]


def test_a_flat_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.fodt"
    path.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document {NAMESPACES} office:version="1.3" '
        'office:mimetype="application/vnd.oasis.opendocument.text">'
        "<office:meta><dc:title>Règlement intérieur</dc:title>"
        f"</office:meta><office:body><office:text>{p('À plat.')}</office:text></office:body></office:document>"
    )
    document = parse(Source(path, path.name))
    assert (document.title, document.text, document.format) == ("Règlement intérieur", "À plat.", "odt")
    path.write_text("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>" + path.read_text().partition("?>")[2])
    with pytest.raises(DocumentRejected):
        parse(Source(path, path.name))


@pytest.mark.parametrize(
    ("parts", "error", "said"),
    [
        ({"manifest": "<m><manifest:encryption-data/></m>"}, DocumentEncrypted, "password"),
        ({"objects": {"encrypted-package": "x"}}, DocumentEncrypted, "password"),
        ({"objects": {"Object 1/content.xml": "<!DOCTYPE a><a/>"}}, DocumentMalformed, "entities"),
    ],
)
def test_refused_with_a_reason(
    tmp_path: Path, parts: dict[str, Any], error: type[DocumentRejected], said: str
) -> None:
    with pytest.raises(error, match=said):
        read(tmp_path, "text", p("x"), **parts)


def test_deep_nesting_ends_clearly(tmp_path: Path) -> None:
    deep = "<text:list><text:list-item>" * 300 + p("fond") + "</text:list-item></text:list>" * 300
    with pytest.raises(DocumentMalformed):
        read(tmp_path, "text", deep)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    written = write_opendocument(tmp_path / "a.odt", "text", p("x" * 50_000))
    with pytest.raises(DocumentRejected, match="unpacks to"):
        parse(Source(written, "a.odt", limits=ParsingLimits(archive_bytes=10_000)))


def test_shapes_of_a_slide_are_read_as_they_lie_and_links_say_where_they_lead(tmp_path: Path) -> None:
    svg = 'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'

    def frame(left: float, text: str) -> str:
        return (
            f'<draw:frame {svg} svg:x="{left}cm" svg:y="5cm" svg:width="5cm" svg:height="1cm">'
            f"<draw:text-box>{p(text)}</draw:text-box></draw:frame>"
        )

    link = '<text:a xlink:href="https://ex.fr/f">fiche</text:a>'
    page = f'<draw:page draw:name="p">{frame(12, "Après")}{frame(1, f"Avant, la {link}")}</draw:page>'
    assert read(tmp_path, "presentation", page).text == "Avant, la fiche (https://ex.fr/f)\n\nAprès"
