"""Web pages and Markdown read as a person sees them: nothing hidden, struck text marked, figures whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.addresses import address_of
from sourcier.services.ingest.parsing.markup.front_matter import split_front_matter
from sourcier.services.ingest.parsing.markup.raised import lowered, raised
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import ReadingWarning, WarningCode
from tests.unit.ingest.fix_parsing import parse

pytestmark = pytest.mark.filterwarnings("ignore")  # the parsing process ignores those of its libraries too


def read(folder: Path, body: str, *, style: str = "", name: str = "a.html") -> ParsedDocument:
    page = f"<html><head><style>{style}</style></head><body>{body}</body></html>" if name.endswith("html") else body
    path = folder / name
    path.write_text(page, encoding="utf-8")
    return parse(Source(path, name))


def blocks(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind.value, document.block_text(block)) for block in document.blocks]


@pytest.mark.parametrize("style", [
    ".x{display:none}", "#y{visibility:hidden}", "body .x, .z > q {display:none!important}", ".x{opacity:0}",
    ".x{position:absolute;left:-9999px}", ".x{font-size:0}", ".x{font-size:1px}", ".x{color:white}",
    "body{background:#123456}.x{color:#123456}", "p[class=x]{display:none}", "@media screen{.x{display:none}}",
    ".x{text-indent:-9999px}", ".x{height:0;overflow:hidden}", ".x{clip:rect(0,0,0,0);position:absolute}",
    ".x::before{content:'a'} .x:unknown-one, .x{display:none}",
])
def test_what_the_pages_own_style_sheet_hides_is_left_out_and_told(style: str, tmp_path: Path) -> None:
    document = read(tmp_path, "<p class=x id=y>Le badge coûte 8 euros.</p><p>Le badge coûte 11 euros.</p>", style=style)
    assert document.text == "Le badge coûte 11 euros."
    assert document.warnings == (ReadingWarning(WarningCode.HIDDEN_TEXT),)


@pytest.mark.parametrize("style", [
    ".x{display:none} p.x{display:block}", "@media print{.x{display:none}}",
    "@media (max-width:600px){.x{display:none}}",
    ".x{display:none!important} #y{display:block!important}", ".x{opacity:0;transition:opacity 1s}",
    ".x{color:white;background:black}", "body{background:url(nuit.png)}.x{color:white}", "body{visibility:hidden}",
    ".x:hover{display:none}", ".x{font-size:0} .x{font-size:14px}", "* {margin:0} .autre{display:none}",
])
def test_what_is_seen_in_the_end_stays(style: str, tmp_path: Path) -> None:
    document = read(tmp_path, "<p class=x id=y>Texte vu.</p><p style='color:#fff;background:#000'>Fin.</p>",
                    style=style)
    assert document.text == "Texte vu.\n\nFin."
    assert not document.warnings


def test_what_a_click_shows_stays(tmp_path: Path) -> None:
    document = read(
        tmp_path, "<button aria-controls=r>Délai ?</button><div id=r class=x>Dix jours.</div>", style=".x{display:none}"
    )
    assert "Dix jours." in document.text


def test_what_stands_around_the_content_comes_after_it_and_menus_go(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        "<header><div class=menu><a href=/>Accueil</a> <a href=/p>Paie</a></div>Mairie de Rezé</header>"
        "<div class='cookie-banner'>Nous utilisons des cookies.</div>"
        "<main><h1>Congés</h1><p>Vingt-cinq jours.</p><div class=share>Partager : <a>Facebook</a> <a>Courriel</a></div>"
        "<aside>À noter : trois de plus.</aside></main><footer>Standard : 3120</footer>",
    )
    assert blocks(document) == [
        ("heading", "Congés"), ("paragraph", "Vingt-cinq jours."), ("paragraph", "À noter : trois de plus."),
        ("aside", "Mairie de Rezé"), ("aside", "Nous utilisons des cookies."),
        ("aside", "Partager : Facebook Courriel"), ("aside", "Standard : 3120"),
    ]
    assert {block.heading_path for block in document.blocks if block.kind is BlockKind.ASIDE} == {()}


def test_content_is_kept_whatever_its_name_says(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        "<h1>Cantine</h1><div class=menu><p>Lundi : gratin de courgettes, fruits.</p></div>"
        "<div class='action social'><p>L'aide sociale est versée le 5.</p></div>"
        "<div class=cookies><p>Recette : beurre.</p></div>",
    )
    assert [kind for kind, _ in blocks(document)] == ["heading", "paragraph", "paragraph", "paragraph"]


def test_a_page_of_nothing_but_a_menu_is_its_menu(tmp_path: Path) -> None:
    assert read(tmp_path, "<div class=nav-mobile><h2><a href=/>Accueil</a></h2></div>").text == "Accueil"
    assert read(tmp_path, "<nav><a href=/>Accueil</a></nav><footer>Standard : 3120</footer>").text == "Standard : 3120"


def test_struck_out_text_is_marked(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        "<p>Adulte : <del>210 €</del> 188 €</p><p>Enfant : <span class=b>140 €</span> 125 €</p>"
        "<del><p>Offre close.</p></del><table><tr><th>Jour<th>Prix<tr><td>Mardi<td><strike>9 €</strike> 10 €</table>",
        style=".b{text-decoration: line-through red}",
    )
    assert document.text == (
        "Adulte : ~~210 €~~ 188 €\n\nEnfant : ~~140 €~~ 125 €\n\n~~Offre close.~~\n\n"
        "| Jour | Prix |\n|---|---|\n| Mardi | ~~9 €~~ 10 € |"
    )


@pytest.mark.parametrize(("before", "text", "read_as"), [
    ("le 1", "er", "er"), ("au XX", "e", "e"), ("19 m", "2", "²"), ("12 km", "2", "²"), ("10", "-3", "⁻³"),
    ("3×10", "8", "⁸"),
    ("m·s", "-1", "⁻¹"), ("x", "2", "²"), ("19", "2", " [2]"), ("4 500", "3", " [3]"), ("17", "(6)", " [6]"),
    ("25 %", "4", " [4]"), ("le repas", "1", " [1]"), ("M", "me", "me"), ("n", "o", "°"), ("14", "h", "h"),
    ("110", "3", " [3]"),
    ("E = mc", "2", "²"), ("note", "1,2", " [1,2]"), ("x", "(1)", " [1]"), ("x", "2n", "²ⁿ"),
    ("12 €", "90", "90"), ("", "1", "[1]"), ("12", "a", "a"), ("12", "b", " [b]"), ("Total", "*", "*"), ("", "", ""),
])
def test_raised_text(before: str, text: str, read_as: str) -> None:
    assert raised(before, text) == read_as


def test_a_link_to_a_note_is_a_call_whatever_stands_before_it() -> None:
    assert raised("12 m", "2", calls_note=True) == " [2]"


@pytest.mark.parametrize(("before", "text", "read_as"), [("CO", "2", "₂"), ("T", "max", "max"), ("x", "n+1", "n+1")])
def test_lowered_text(before: str, text: str, read_as: str) -> None:
    assert lowered(before, text) == read_as


def test_sublists_and_numbers_stand_where_they_are(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        "<ol start=4><li>couper l'aération ;<ul><li>vanne nord,<li>vanne sud ;</ul>puis attendre ;</li>"
        "<li>prévenir</ol><ol type=a><li>un<li value=5>cinq</ol>",
    )
    assert document.text == (
        "4. couper l'aération ;\n  - vanne nord,\n  - vanne sud ;\nputs attendre ;\n5. prévenir\na. un\ne. cinq"
    ).replace("puts", "puis")


def test_cells_over_rows_and_columns_stand_in_each(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        "<table><caption>Ventes 2025</caption><tr><th rowspan=2>Magasin<th colspan=2>Semestre 1<tr><th>Neuf<th>Occasion"
        "<tr><td rowspan=2>Niort<td>1<td>2<tr><td colspan=2>fermé<tr><td colspan=3>Région sud</table>",
    )
    assert document.text == (
        "Ventes 2025\n\n| Magasin | Semestre 1 | Semestre 1 |\n| Magasin | Neuf | Occasion |\n|---|---|---|\n"
        "| Niort | 1 | 2 |\n| Niort | fermé | fermé |\n| Région sud |  |  |"
    )


def test_fields_show_what_is_in_them(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        "<form><label>Poids à vide</label><input value='2 150 kg'><input type=hidden value=secret>"
        "<select><option>Quai A<option selected>Quai C</select><label><input type=checkbox checked>Fragile</label>"
        "<label><input type=radio>Express</label></form>",
    )
    assert document.text == "Poids à vide : 2 150 kg ☐ Quai A ☒ Quai C ☒ Fragile ☐ Express"


@pytest.mark.parametrize(("reference", "shown", "address"), [
    ("mailto:a@exemple.fr?subject=x", "nous écrire", "a@exemple.fr"), ("mailto:a@exemple.fr", "A@exemple.fr", ""),
    ("tel:+33549001122", "le secrétariat", "+33549001122"), ("tel:+33549001122", "05 49 00 11 22", ""),
    ("https://exemple.fr/d", "le portail", "https://exemple.fr/d"), ("https://www.exemple.fr/", "exemple.fr", ""),
    ("formulaire%20A.pdf", "ici", "formulaire A.pdf"), ("/accueil", "ici", ""), ("#haut", "ici", ""),
    ("javascript:go()", "ici", ""), ("http://[::1", "ici", ""),
])
def test_where_links_lead_is_told_where_the_text_does_not_show_it(reference: str, shown: str, address: str) -> None:
    assert address_of(reference, shown=shown) == address


def test_definitions_and_layout_tables(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        "<dl><dt>Délai<dd>Un mois<dt>Seul</dl><table><tr><th>Capacité<td>340 t<tr><th>Pression<td>2 bar</table>"
        "<table><tr><td><h2>Gauche</h2>un<td>deux</table>",
    )
    assert document.text == "Délai : Un mois\n\nSeul\n\nCapacité : 340 t\n\nPression : 2 bar\n\nGauche\n\nun\n\ndeux"


def test_no_depth_loses_text(tmp_path: Path) -> None:
    assert read(tmp_path, "<div>" * 1500 + "au fond").text == "au fond"
    assert "au fond" in read(tmp_path, "<table><tr><td>a<td>" * 40 + "au fond").text


def test_markdown_boxes_struck_text_breaks_links_and_notes(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        "# Suivi\n\n- [x] Fait\n- [ ] À faire\n\n| Équipe | Reçu |\n|---|---|\n| Verte<br>Jaune | [x] |\n\n"
        "Prix : ~~14 €~~ 17 €[^1]. Écrire à <nom du client> par [courriel](mailto:a@exemple.fr).\n\n"
        "[^1]: Sauf en août.\n\n"
        "Fin. <!-- caché -->\n",
        name="a.md",
    )
    assert document.text == (
        "Suivi\n\n- ☒ Fait\n- ☐ À faire\n\n| Équipe | Reçu |\n|---|---|\n| Verte, Jaune | ☒ |\n\n"
        "Prix : ~~14 €~~ 17 € [1]. Écrire à <nom du client> par courriel (a@exemple.fr).\n\n[1] Sauf en août.\n\nFin."
    )


@pytest.mark.parametrize(("written", "title", "text"), [
    ("---\ntitle: Charte\nversion: 4.20\ndate: 2026-02-11\ntags: [rh, paie]\nauteur:\n  nom: Paul\n---\n# A",
     "Charte", "version : 4.20\ndate : 2026-02-11\ntags : rh, paie\nauteur nom : Paul"),
    ("+++\ntitle = 'Charte'\nversion = 3\n+++\n# A", "Charte", "version : 3"),
    ("---\ntitle: 'Charte'\nnote: a: b: [\n---\n# A", "Charte", "title: 'Charte'\nnote: a: b: ["),
    ("---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n# A", "", "a : x, x"),
])
def test_front_matter_is_found_as_it_is_written(written: str, title: str, text: str) -> None:
    found, rest = split_front_matter(written)
    assert (found.title, found.text, rest) == (title, text, "# A")


def test_what_a_text_or_a_page_says_of_itself_is_metadata(tmp_path: Path) -> None:
    markdown = "---\ntitle: Guide\nauteur: Zoé Martin\ntags: [paie, congés]\nvide:\n---\n# Titre\n\nTexte."
    path = tmp_path / "a.md"
    path.write_text(markdown)
    document = parse(Source(path, "a.md"))
    assert dict(document.metadata) == {"title": "Guide", "auteur": "Zoé Martin", "tags": "paie, congés"}
    path = tmp_path / "a.html"
    path.write_text(
        "<html><head><meta name='Author' content='Zoé'><meta property='article:published_time' content='2026-03-03'>"
        "<meta name='viewport' content='width=1'><meta name='date' content='2020'></head>"
        "<body><p>Texte.</p></body></html>"
    )
    assert dict(parse(Source(path, "a.html")).metadata) == {"author": "Zoé", "date": "2026-03-03"}


def test_meanings_of_abbreviations_tables_by_role_and_names_of_icons(tmp_path: Path) -> None:
    rows = (("columnheader", "Ville", "Prix"), ("cell", "Lyon", "12"))
    table = "".join(
        "<div><div role=row>" + "".join(f"<span role={role}>{text}</span>" for text in texts) + "</div></div>"
        for role, *texts in rows
    )
    short = "<abbr title='réduction du temps de travail'>RTT</abbr>"
    document = read(
        tmp_path,
        f"<p>Les {short}, les {short}.</p>"
        "<p><span class='material-icons' aria-hidden=true>file_download</span> Guide</p>"
        f"<div role=table>{table}</div>",
    )
    assert document.text == (
        "Les RTT (réduction du temps de travail), les RTT.\n\nGuide\n\n| Ville | Prix |\n|---|---|\n| Lyon | 12 |"
    )
