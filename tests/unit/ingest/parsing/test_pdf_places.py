"""Where the words of a PDF stand: rectangles hold the words of their sentence, and no others."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sourcier.services.chassis.errors import DocumentPageAbsent
from sourcier.services.index.places.place import PagePlace, Rectangle
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.source import Source
from tests.unit.ingest.fix_parsing import parse
from tests.unit.ingest.fix_pdf_pages import HEIGHT, WIDTH, PageMaker, write_pdf
from tests.unit.ingest.fix_places import said_there

PROSE = (
    "Le congé annuel est de vingt-cinq jours ouvrés. La demande se fait deux",
    "semaines avant le départ. Le solde est reporté jusqu'au 31 mars, puis il",
    "est perdu. Un congé sans solde demande l'accord de la direction.",
)
_SENTENCE = re.compile(r"[^.]+\.")


def read(path: Path) -> ParsedDocument:
    """Read a file of pages."""
    return parse(Source(path, path.name))


def places_of(document: ParsedDocument, part: str) -> tuple[PagePlace, ...]:
    """Return where a part of the text stands."""
    start = document.text.index(part)
    found = document.places.places(start, start + len(part))
    assert all(isinstance(place, PagePlace) for place in found)
    return found  # type: ignore[return-value]


def without_space(text: str) -> str:
    """Return a text as it is compared."""
    return "".join(text.split())


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("cropped", [False, True])
@pytest.mark.parametrize("turn", ["1 0 0 1", "0 1 -1 0", "-1 0 0 -1", "0 -1 1 0"])
def test_each_sentence_has_its_words_however_page_and_text_are_turned(
    tmp_path: Path, rotate: int, cropped: bool, turn: str
) -> None:
    page = PageMaker(rotate=rotate)
    steps = {"1 0 0 1": (0, 14), "0 1 -1 0": (14, 0), "-1 0 0 -1": (0, -14), "0 -1 1 0": (-14, 0)}[turn]
    origin = {"1 0 0 1": (70, 200), "0 1 -1 0": (200, 700), "-1 0 0 -1": (500, 400), "0 -1 1 0": (300, 150)}[turn]
    for number, line in enumerate(PROSE):
        page.text(origin[0] + number * steps[0], origin[1] + number * steps[1], line, turn=turn)
    path = write_pdf(tmp_path / "page.pdf", [page])
    if cropped:
        path.write_bytes(path.read_bytes().replace(b"/MediaBox[0 0", b"/CropBox[40 60 560 800]/MediaBox[0 0"))
    document = read(path)
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(document.text)]
    assert len(sentences) == 4
    for sentence in sentences:
        # PDFium tells turned lines in an order of its own.
        assert sorted(said_there(path, places_of(document, sentence))) == sorted(without_space(sentence))
        (place,) = places_of(document, sentence)
        assert len(place.rectangles) == (2 if sentence.startswith(("La demande", "Le solde")) else 1)
    (place,) = places_of(document, sentences[0])
    shown = (560 - 40, 800 - 60) if cropped else (WIDTH, HEIGHT)
    assert (place.width, place.height) == (shown[::-1] if rotate % 180 else shown)


def test_sentences_of_two_columns_keep_to_their_column(tmp_path: Path) -> None:
    left = ["La piscine rouvre le mardi après", "le remplacement des filtres. Les", "leçons du soir reprennent."]
    right = ["Le marché déménage place du Lavoir", "pour six semaines. Les camions", "déchargent avant six heures."]
    path = write_pdf(tmp_path / "columns.pdf", [PageMaker().lines(60, 100, left).lines(320, 100, right)])
    document = read(path)
    for sentence in (each.strip() for each in _SENTENCE.findall(document.text)):
        (place,) = places_of(document, sentence)
        assert said_there(path, (place,)) == without_space(sentence)
        edge = 300.0
        assert all((left + width < edge) or left > edge for left, _, width, _ in place.rectangles)


def test_rows_of_a_table_have_the_rectangles_of_their_cells(tmp_path: Path) -> None:
    page = PageMaker().grid((60, 200, 330, 460), (100, 120, 140, 160))
    for row, cells in enumerate((("Ville", "Hôtel", "Dîner"), ("Lyon", "120 €", "28 €"), ("Nantes", "", "26 €"))):
        for column, cell in enumerate(cells):
            page.text((65, 205, 335)[column], 114 + row * 20, cell)
    path = write_pdf(tmp_path / "table.pdf", [page])
    document = read(path)
    rows = [line for line in document.text.split("\n") if line.startswith("| ")]
    said = [said_there(path, places_of(document, row)) for row in rows]
    assert said == ["VilleHôtelDîner", "Lyon120€28€", "Nantes26€"]
    (place,) = places_of(document, "120 €")
    assert said_there(path, (place,)) == "120€"


def test_words_that_a_line_end_broke_have_both_halves_and_a_page_end_two_pages(tmp_path: Path) -> None:
    # Lines that reach the margin, so that the hyphens are the margin's.
    first = [
        "La commission examine la demande de renouvellement dans les trois semaines, puis l'admi-",
        "nistration répond. Le silence gardé pendant deux mois par le service vaut un refus défi-",
    ]
    second = ["nitif de la demande. Un recours reste possible devant le tribunal."]
    path = write_pdf(tmp_path / "broken.pdf", [PageMaker().lines(60, 700, first), PageMaker().lines(60, 60, second)])
    document = read(path)
    halves = places_of(document, "administration")
    assert said_there(path, halves) == "l'administration"
    assert len(halves[0].rectangles) == 2
    assert [place.number for place in places_of(document, "définitif")] == [1, 2]


def test_raised_figures_notes_and_field_values_stand_where_they_are_seen(tmp_path: Path) -> None:
    page = PageMaker().text(60, 100, "Le local mesure 48 m").text(154.5, 96, "2", size=6).text(160, 100, "au rez.")
    page.text(60, 140, "Nom :").field(100, 130, 300, 145, "Ada Lovelace")
    path = write_pdf(tmp_path / "marks.pdf", [page])
    document = read(path)
    assert said_there(path, places_of(document, "48 m²")) == "48m2"
    (place,) = places_of(document, "Ada Lovelace")
    (box,) = place.rectangles
    assert 100 <= box.left <= 310
    assert 120 <= box.top <= 150


def test_text_with_no_words_of_its_own_is_on_its_page(tmp_path: Path) -> None:
    page = PageMaker().lines(60, 100, PROSE).annotation("Text", 400, 400, 420, 420, "Vérifier ce chiffre.")
    document = read(write_pdf(tmp_path / "remark.pdf", [page]))
    (place,) = places_of(document, "Vérifier ce chiffre.")
    assert (place.number, place.rectangles) == (1, ())


def test_pages_have_the_labels_that_the_file_gives_them(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "labels.pdf", [PageMaker().lines(60, 100, [f"Page {n} du rapport."]) for n in range(3)])
    labels = b"/PageLabels<</Nums[0<</S/r>>2<</S/D>>]>>"
    path.write_bytes(path.read_bytes().replace(b"/Type/Catalog", b"/Type/Catalog" + labels))
    document = read(path)
    found = [places_of(document, f"Page {n} du")[0] for n in range(3)]
    assert [(place.number, place.label) for place in found] == [(1, "i"), (2, "ii"), (3, "1")]


def test_an_artefact_keeps_places_and_one_of_before_is_read_without() -> None:
    import gzip
    import json

    document = ParsedDocument("t", "a", (), 1, "pdf")
    body = json.loads(gzip.decompress(document.to_bytes()))
    del body["places"]
    body["version"] = 3
    before = ParsedDocument.from_bytes(gzip.compress(json.dumps(body).encode()))
    assert not before.places
    assert before.text == "a"


def test_places_survive_the_artefact(tmp_path: Path) -> None:
    document = read(write_pdf(tmp_path / "page.pdf", [PageMaker().lines(60, 100, PROSE)]))
    assert ParsedDocument.from_bytes(document.to_bytes()).places == document.places


def drawn(path: Path, **drawing: object) -> tuple[np.ndarray, object]:
    """Return a page's pixels, and what its drawing tells."""
    from sourcier.services.ingest.parsing.pdf.drawn_page import Drawing, draw_page

    page = draw_page(Source(path, path.name), Drawing(**{"page": 1, "dpi": 72} | drawing))  # type: ignore[arg-type]
    return np.asarray(Image.open(io.BytesIO(page.png)).convert("RGB")), page


@pytest.mark.parametrize("rotate", [0, 90])
def test_a_page_is_drawn_with_what_is_marked(tmp_path: Path, rotate: int) -> None:
    path = write_pdf(tmp_path / "page.pdf", [PageMaker(rotate=rotate).lines(70, 200, PROSE)])
    (place,) = places_of(read(path), "Le congé annuel est de vingt-cinq jours ouvrés.")
    plain, _ = drawn(path)
    marked, page = drawn(path, rectangles=place.rectangles)
    assert marked.shape == ((WIDTH, HEIGHT) if rotate else (HEIGHT, WIDTH)) + (3,)
    assert page.marked == len(place.rectangles)  # type: ignore[attr-defined]
    changed = (plain != marked).any(axis=2)
    for box in place.rectangles:
        across, down = slice(round(box.left) + 1, round(box.left + box.width)), round(box.top + box.height)
        assert changed[round(box.top) + 1 : down, across].mean() > 0.4
    # Yellow where it was white, dark where it was dark, and nothing else.
    assert changed.sum() <= sum((box.width + 4) * (box.height + 4) for box in place.rectangles)
    assert (marked[changed][:, 2] < 100).all()


def test_a_text_without_places_is_looked_for_and_a_foreign_one_is_not_marked(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "page.pdf", [PageMaker().lines(70, 200, PROSE)])
    _, page = drawn(path, text="Le solde est reporté jusqu’au 31 mars, puis il\nest perdu.")
    assert (page.marked, page.matched) == (2, True)  # type: ignore[attr-defined]
    _, page = drawn(path, text="Les trottinettes restent au garage le dimanche soir.")
    assert (page.marked, page.matched) == (0, False)  # type: ignore[attr-defined]


def test_a_huge_page_is_drawn_smaller_and_a_page_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "page.pdf", [PageMaker().lines(70, 200, PROSE)])
    path.write_bytes(path.read_bytes().replace(b"/MediaBox[0 0 595 842]", b"/MediaBox[0 0 14400 14400]"))
    pixels, page = drawn(path, dpi=300, rectangles=(Rectangle(-50, -50, 1e6, 1e6),))
    assert pixels.shape[0] * pixels.shape[1] <= 25_100_000
    assert page.dpi < 300  # type: ignore[attr-defined]
    with pytest.raises(DocumentPageAbsent, match="1 page, and no page 2"):
        drawn(path, page=2)
