"""From ranges of characters to places, and place maps as bytes."""

from __future__ import annotations

import random

import pytest

from sourcier.services.index.places import encoding
from sourcier.services.index.places.place import (
    CellsPlace,
    LinesPlace,
    PagePlace,
    Rectangle,
    SlidePlace,
    TimePlace,
    cell_range,
)
from sourcier.services.index.places.place_map import RECTANGLES_MAX, Edges, Frame, Kind, PlaceMap, Stretch

A4 = Frame(Kind.PAGE, 3, "iii", 5950, 8420)


def line(start: int, top: int, *words: tuple[int, int, int]) -> Stretch:
    """Return a line of words, each its length and its edges, parted by a space."""
    edges, at = [], start
    for length, left, right in words:
        edges.append(Edges(at, at + length, left, right))
        at += length + 1
    return Stretch(start, at - 1, 0, words[0][1], top, words[-1][2], top + 110, tuple(edges))


TWO_LINES = PlaceMap((A4,), (
    line(0, 1000, (3, 500, 600), (4, 630, 800), (5, 830, 1000)),
    line(15, 1130, (4, 500, 700), (6, 730, 980)),
))


def test_a_range_has_the_rectangles_of_its_words_and_of_no_others() -> None:
    (place,) = TWO_LINES.places(9, 19)
    assert place == PagePlace(3, "iii", 595.0, 842.0, (
        Rectangle(83.0, 100.0, 17.0, 11.0), Rectangle(50.0, 113.0, 20.0, 11.0)
    ))


def test_a_whole_line_is_one_rectangle() -> None:
    (place,) = TWO_LINES.places(0, 14)
    assert isinstance(place, PagePlace)
    assert place.rectangles == (Rectangle(50.0, 100.0, 50.0, 11.0),)


@pytest.mark.parametrize(("start", "end"), [(14, 15), (26, 90), (5, 5)])
def test_what_stands_nowhere_has_no_place(start: int, end: int) -> None:
    assert TWO_LINES.places(start, end) == ()


def test_a_text_put_together_of_parts_knows_where_each_part_stands() -> None:
    # A header that is repeated above the second line: its place comes with it.
    part = TWO_LINES.part([(0, 0, 3), (4, 15, 26)])
    (header,), (body,) = part.places(0, 3), part.places(4, 15)
    assert isinstance(header, PagePlace)
    assert isinstance(body, PagePlace)
    assert header.rectangles == (Rectangle(50.0, 100.0, 10.0, 11.0),)
    assert body.rectangles == (Rectangle(50.0, 113.0, 48.0, 11.0),)


def test_places_come_by_frame_in_the_texts_order() -> None:
    frames = (Frame(Kind.SLIDE, 4), Frame(Kind.CELLS, name="Budget"), Frame(Kind.LINES), Frame(Kind.TIME))
    found = PlaceMap(frames, (
        Stretch(0, 5, 0), Stretch(5, 6, 1), Stretch(6, 9, 1, 4, 2, 4, 5), Stretch(10, 12, 1, 5, 2, 5, 5),
        Stretch(13, 15, 2, 7, 9), Stretch(16, 20, 3, 760_000, 772_500),
    )).places(0, 20)
    assert found == (
        SlidePlace(4), CellsPlace("Budget", "B4:E5"), LinesPlace(7, 9), TimePlace(760_000, 772_500)
    )


def test_cells_of_one_line_with_a_gap_between_them_are_marked_apart_and_repeated_ones_once() -> None:
    far = PlaceMap((A4,), (
        Stretch(0, 3, 0, 500, 100, 600, 210), Stretch(4, 7, 0, 2000, 100, 2100, 210),
        Stretch(8, 11, 0, 500, 100, 600, 210),
    ))
    (place,) = far.places(0, 11)
    assert isinstance(place, PagePlace)
    assert place.rectangles == (Rectangle(50.0, 10.0, 10.0, 11.0), Rectangle(200.0, 10.0, 10.0, 11.0))


@pytest.mark.parametrize(
    ("cells", "told"), [((1, 1, 1, 1), "A1"), ((4, 2, 7, 4), "B4:D7"), ((9, 27, 9, 703), "AA9:AAA9")]
)
def test_cells_are_named_as_the_program_shows_them(cells: tuple[int, int, int, int], told: str) -> None:
    assert cell_range(*cells) == told


def test_a_map_of_pictures_tells_them_and_one_without_any_is_as_before() -> None:
    page = Frame(Kind.PAGE, 3, "iii", 5950, 8420)
    plain = PlaceMap((page,), (Stretch(0, 9, 0, 1, 2, 3, 4),))
    drawn = PlaceMap((page, page._replace(picture=2)), (*plain.stretches, Stretch(10, 20, 1, 5, 6, 70, 80)))
    assert encoding.decode(encoding.encode(drawn)) == drawn
    assert [place.picture for place in drawn.places(0, 20) if isinstance(place, PagePlace)] == [0, 2]
    assert encoding.encode(plain)[0] == 1
    assert encoding.encode(PlaceMap((Frame(Kind.FILE, picture=1),), (Stretch(0, 4, 0),)))[0] == 2


def random_map(seed: int) -> PlaceMap:
    """Return a map of lines and words in random places, some of them leftward and outside of the page."""
    draw = random.Random(seed)
    frames = tuple(Frame(Kind.PAGE, n + 1, draw.choice(["", "iv", "é"]), 5950, 8420) for n in range(draw.randint(1, 4)))
    stretches, at = [], 0
    for frame in sorted(draw.randrange(len(frames)) for _ in range(draw.randint(0, 60))):
        words = []
        for _ in range(draw.randint(0, 14)):
            at += draw.randint(0, 3)
            length, left = draw.randint(1, 30), draw.randint(-500, 9000)
            words.append(Edges(at, at + length, left, left + draw.randint(0, 900)))
            at += length
        start = words[0].start if words else at
        at = max(at, start + 1)
        top = draw.randint(-200, 9000)
        stretches.append(Stretch(start, at, frame, draw.randint(-9, 999), top, 1500, top + 110, tuple(words)))
    return PlaceMap(frames, tuple(stretches))


@pytest.mark.parametrize("seed", range(20))
def test_a_map_comes_back_from_its_bytes(seed: int) -> None:
    places = random_map(seed)
    assert encoding.decode(encoding.encode(places)) == places
    assert encoding.decode(encoding.encode(places), words=False) == places.without_words()


def test_a_chunk_of_usual_size_takes_less_than_a_kilobyte_and_any_chunk_has_a_bound() -> None:
    words = [(5, 500 + 250 * n, 720 + 250 * n) for n in range(12)]
    usual = PlaceMap((A4,), tuple(line(n * 72, 1000 + n * 130, *words) for n in range(14)))
    assert len(encoding.encode_bounded(usual)) < 1000
    huge = PlaceMap((A4,), tuple(line(n * 72, 1000 + n * 130, *words) for n in range(2_000)))
    bounded = encoding.decode(encoding.encode_bounded(huge))
    assert len(encoding.encode_bounded(huge)) <= encoding.CHUNK_BYTES_MAX
    assert bounded.places(0, 50)
    (place,) = huge.places(0, 200_000)
    assert isinstance(place, PagePlace)
    assert len(place.rectangles) == RECTANGLES_MAX


@pytest.mark.parametrize("seed", range(40))
def test_bytes_that_are_no_map_are_refused_or_read_in_no_time(seed: int) -> None:
    draw = random.Random(seed)
    data = bytearray(encoding.encode(random_map(seed)))
    for _ in range(draw.randint(1, 6)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    del data[draw.randrange(len(data)) + 1 :]
    try:
        encoding.decode(bytes(data)).places(0, 10_000)
    except ValueError:
        return


@pytest.mark.parametrize("data", [b"\x02", b"\x01", b"\x01\xff\xff\xff\xff\x0f", b"\x01\x00\x01" + b"\x00" * 8])
def test_what_ends_too_early_or_names_what_it_lacks_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="place map"):
        encoding.decode(data)
