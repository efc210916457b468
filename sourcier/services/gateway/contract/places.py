"""Where passages and cited sentences stand, as the contract tells it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePath

from google.protobuf.duration_pb2 import Duration

from sourcier.gateway.v1 import place_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.index.places import encoding
from sourcier.services.index.places.place import (
    CellsPlace,
    FilePlace,
    LinesPlace,
    PagePlace,
    ParagraphsPlace,
    Place,
    SlidePlace,
    TimePlace,
)
from sourcier.services.index.places.place_map import PlaceMap
from sourcier.services.index.search.passages import Passage

_SLIDES = frozenset({".pptx", ".ppt", ".odp"})
_SHEETS = frozenset({".xlsx", ".xls", ".ods"})
_MAPS_KEPT = 256

_log = logging.getLogger(__name__)


def passage_places(passage: Passage) -> list[place_pb2.Place]:
    """Return where a passage stands; a header that it repeats from further up is left out."""
    return place_messages(places_of(passage, *body_of(passage)))


def cited_places(passage: Passage, start: int, end: int) -> list[place_pb2.Place]:
    """Return where a part of a passage's text stands; of the whole text, as `passage_places` does."""
    if (start, end) in ((0, 0), (0, len(passage.text))):
        return passage_places(passage)
    return place_messages(places_of(passage, start, end, words=True))


def places_of(passage: Passage, start: int, end: int, *, words: bool = False) -> tuple[Place, ...]:
    """Return where a part of a passage's text stands: without kept places its page, where it has one.

    `words` tells apart what stands on one line; without them a line belongs to a part as a whole.
    """
    found = _places(passage.place_map, words=words).places(start, end)
    if found or not passage.page:
        return found
    suffix = PurePath(passage.filename).suffix.lower()
    if suffix in _SLIDES:
        return (SlidePlace(passage.page),)
    # Of a sheet only its number among the visible ones is known, and people know its name.
    return () if suffix in _SHEETS else (PagePlace(passage.page),)


def body_of(passage: Passage) -> tuple[int, int]:
    """Return which part of a passage's text is not repeated from further up."""
    length = passage.end_character - passage.start_character
    return len(passage.text) - length if 0 < length <= len(passage.text) else 0, len(passage.text)


def place_messages(places: Iterable[Place]) -> list[place_pb2.Place]:
    """Return places as the contract tells them."""
    return [_message(place) for place in places]


@lru_cache(maxsize=_MAPS_KEPT)
def _places(encoded: bytes, *, words: bool) -> PlaceMap:
    """Return a chunk's map; an answer looks at each of its passages several times."""
    try:
        return encoding.decode(encoded, words=words)
    except ValueError:
        telemetry.degradations_total.labels("places", "PLACE_MAP_UNREADABLE").inc()
        _log.exception("the places of a chunk cannot be read; its page alone is told")
        return PlaceMap()


def _message(place: Place) -> place_pb2.Place:
    match place:
        case PagePlace(number, label, width, height, rectangles, picture):
            return place_pb2.Place(picture=picture, page=place_pb2.PagePlace(
                number=number, label=label, width=width, height=height, rectangles=[
                    place_pb2.Rectangle(left=left, top=top, width=wide, height=high)
                    for left, top, wide, high in rectangles
                ],
            ))
        case CellsPlace(sheet, cells, picture):
            return place_pb2.Place(picture=picture, cells=place_pb2.CellsPlace(sheet=sheet, range=cells))
        case SlidePlace(number, picture):
            return place_pb2.Place(picture=picture, slide=place_pb2.SlidePlace(number=number))
        case ParagraphsPlace(first, last, picture):
            return place_pb2.Place(picture=picture, paragraphs=place_pb2.ParagraphsPlace(first=first, last=last))
        case LinesPlace(first, last, picture):
            return place_pb2.Place(picture=picture, lines=place_pb2.LinesPlace(first=first, last=last))
        case FilePlace(picture):
            return place_pb2.Place(picture=picture)
        case TimePlace(start, end):
            return place_pb2.Place(time=place_pb2.TimePlace(start=_duration(start), end=_duration(end)))


def _duration(milliseconds: int) -> Duration:
    return Duration(seconds=milliseconds // 1000, nanos=milliseconds % 1000 * 1_000_000)
