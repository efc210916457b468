"""A place map as bytes: numbers of one to five bytes, each line and word told by its distance from the one before.

A word takes 3 to 5 bytes, a line about 10: a chunk of 250 tokens about 800 bytes, beside 10 KB of token codes. Version,
frames, stretches, then the words of all stretches, so that a whole passage is looked up without reading its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from sourcier.services.index.places.place_map import Edges, Frame, Kind, PlaceMap, Stretch

VERSION = 1
PICTURES_VERSION = 2
"""Of a map with a picture: each frame has a number more. Maps without one stay what earlier releases read."""
CHUNK_BYTES_MAX = 16 * 1024
"""Of one chunk; what takes more is kept without words, and then cut at its end."""
_SHIFT_MAX = 28
"""A number has five bytes at most."""


def encode_bounded(places: PlaceMap) -> bytes:
    """Return the bytes of a chunk's map, nothing for an empty one, within `CHUNK_BYTES_MAX`."""
    if not places:
        return b""
    encoded = encode(places)
    if len(encoded) > CHUNK_BYTES_MAX:
        places = places.without_words()
        encoded = encode(places)
    while len(encoded) > CHUNK_BYTES_MAX:
        places = places.part([(0, 0, places.stretches[(len(places.stretches) - 1) // 2].start)])
        encoded = encode(places) if places else b""
    return encoded


def encode(places: PlaceMap) -> bytes:
    """Return a map's bytes."""
    pictured = any(frame.picture for frame in places.frames)
    numbers: list[int] = [PICTURES_VERSION if pictured else VERSION, len(places.frames)]
    names: list[bytes] = []
    for frame in places.frames:
        name = frame.name.encode()
        numbers += (frame.kind, frame.number, frame.width, frame.height, len(name))
        if pictured:
            numbers.append(frame.picture)
        names.append(name)
    numbers.append(len(places.stretches))
    words: list[int] = []
    at = frame_before = a = b = c = d = 0
    for stretch in places.stretches:
        numbers += (
            stretch.start - at, stretch.end - stretch.start, _signed(stretch.frame - frame_before),
            _signed(stretch.a - a), _signed(stretch.b - b), _signed(stretch.c - c), _signed(stretch.d - d),
            len(stretch.words),
        )
        _, at, frame_before, a, b, c, d, _ = stretch
        character, edge = stretch.start, stretch.a
        for start, end, left, right in stretch.words:
            words += (start - character, end - start, _signed(left - edge), right - left)
            character, edge = end, right
    return b"".join((_varints(numbers), *names, _varints(words)))


def decode(data: bytes, *, words: bool = True) -> PlaceMap:
    """Return the map, without its words where they are not asked for; raise ValueError for what is none."""
    if not data:
        return PlaceMap()
    reader = _Reader(data)
    version = reader.count()
    if version not in (VERSION, PICTURES_VERSION):
        raise ValueError("place map of another version")
    size = 6 if version == PICTURES_VERSION else 5
    frames = list(_groups(reader.numbers(size * reader.count()), size))
    heads = list(_groups(reader.numbers(8 * reader.count()), 8))
    made = tuple(
        Frame(Kind(k), n, reader.text(length), w, h, *picture) for k, n, w, h, length, *picture in frames
    )
    edges = _groups(reader.numbers(4 * sum(head[7] for head in heads)) if words else (), 4)
    stretches: list[Stretch] = []
    at = frame = a = b = c = d = 0
    for gap, length, df, da, db, dc, dd, count in heads:
        start = at + gap
        at = start + length
        frame, a, b, c, d = frame + _plain(df), a + _plain(da), b + _plain(db), c + _plain(dc), d + _plain(dd)
        if not 0 <= frame < len(made):
            raise ValueError("place map with a frame that it lacks")
        stretches.append(Stretch(start, at, frame, a, b, c, d, tuple(_edges(islice(edges, count), start, a))))
    return PlaceMap(made, tuple(stretches))


def _edges(told: Iterable[tuple[int, ...]], character: int, edge: int) -> Iterator[Edges]:
    for gap, length, offset, width in told:
        start, left = character + gap, edge + _plain(offset)
        character, edge = start + length, left + width
        yield Edges(start, character, left, edge)


def _groups(numbers: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Yield the numbers in groups of one size."""
    return zip(*[iter(numbers)] * size, strict=True)


def _signed(number: int) -> int:
    """Return a number of either sign as one that is never negative: small ones stay small."""
    return number << 1 if number >= 0 else (-number << 1) - 1


def _plain(number: int) -> int:
    return number >> 1 if not number & 1 else -((number + 1) >> 1)


def _varints(numbers: Iterable[int]) -> bytes:
    encoded = bytearray()
    append = encoded.append
    for number in numbers:
        while number > 127:
            append(number & 127 | 128)
            number >>= 7
        append(number)
    return bytes(encoded)


class _Reader:
    """Numbers and names out of bytes; raises ValueError where they end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def numbers(self, count: int) -> list[int]:
        """Return the next numbers."""
        if count > len(self._data) - self._at:
            raise ValueError("place map that ends too early")
        values: list[int] = []
        value = shift = 0
        if not count:
            return values
        for at, byte in enumerate(self._data[self._at : self._at + 5 * count], self._at + 1):
            if byte > 127:
                value |= (byte & 127) << shift
                shift += 7
                if shift > _SHIFT_MAX:
                    break
                continue
            values.append(value | byte << shift)
            value = shift = 0
            if len(values) == count:
                self._at = at
                return values
        raise ValueError("place map that ends too early, or with a number too large")

    def count(self) -> int:
        """Return the next number, which says how much follows."""
        return self.numbers(1)[0]

    def text(self, length: int) -> str:
        """Return the next bytes as text."""
        if length > len(self._data) - self._at:
            raise ValueError("place map that ends too early")
        text = self._data[self._at : self._at + length].decode()
        self._at += length
        return text
