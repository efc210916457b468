"""Column types: those psycopg does not know, sent in PostgreSQL's binary wire format, and ids, read as strings."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from sourcier.services.chassis.errors import FailedPrecondition

if TYPE_CHECKING:
    from psycopg.abc import Buffer


INTEGER_OID, INTEGER_ARRAY_OID, TEXT_OID, TEXT_ARRAY_OID = 23, 1007, 25, 1009
"""Of PostgreSQL's own types, the same in every database."""


_HALF_HEADER_BYTES = 4


class HalfVector(bytes):
    """A pgvector `halfvec` in wire format."""


class SparseVector(bytes):
    """A pgvector `sparsevec` in wire format."""


class TextSearchVector(bytes):
    """A `tsvector` in wire format, without positions."""


class IntegerArray(bytes):
    """An `integer[]` in wire format."""


class TextArray(bytes):
    """A `text[]` in wire format."""


def half_vector(values: bytes) -> HalfVector:
    """Return a vector from its float16 values, little-endian, as events carry them."""
    # The wire wants big-endian: uint16 dimension, uint16 unused, then the values.
    swapped = array("H", values)  # not numpy: the stack, which holds no vector, would load it for this alone
    swapped.byteswap()
    return HalfVector(struct.pack(">HH", len(swapped), 0) + swapped.tobytes())


def half_floats(sent: bytes) -> bytes:
    """Return the float16 values, little-endian, of a vector as `halfvec_send` gives it: the way back of
    `half_vector`."""
    swapped = array("H", sent[_HALF_HEADER_BYTES:])
    swapped.byteswap()
    return swapped.tobytes()


def sparse_vector(elements: Mapping[int, float], *, dimension: int) -> SparseVector:
    """Return a vector from its non-zero elements, dimensions counted from 0."""
    indices = sorted(elements)
    count = len(indices)
    header = struct.pack(">iii", dimension, count, 0)
    return SparseVector(
        header
        + struct.pack(f">{count}i", *indices)
        + struct.pack(f">{count}f", *[elements[index] for index in indices])
    )


def text_search_vector(lexemes: Sequence[str]) -> TextSearchVector:
    """Return a vector of distinct lexemes; the server sorts them."""
    # A count of positions (0, as uint16) follows each zero-terminated lexeme. Encoded as one text, not one by one.
    return TextSearchVector(
        struct.pack(">i", len(lexemes)) + "\0\0\0".join((*lexemes, "")).encode()
    )


def integer_array(values: Sequence[int]) -> IntegerArray:
    """Return an array of 32-bit integers.

    psycopg would go by the values, and prepare the statement anew for those that need 16 bits and those that need 32.
    """
    count = len(values)
    # One dimension, no nulls, counted from 1; a length before each element.
    elements = [field for value in values for field in (4, value)]
    return IntegerArray(struct.pack(f">{5 + 2 * count}i", 1, 0, INTEGER_OID, count, 1, *elements))


def text_array(values: Sequence[str]) -> TextArray:
    """Return an array of texts: as they are, where a list would be quoted and searched for what needs it."""
    parts = [struct.pack(">5i", 1, 0, TEXT_OID, len(values), 1)]
    for value in values:
        encoded = value.encode()
        parts += (struct.pack(">i", len(encoded)), encoded)
    return TextArray(b"".join(parts))


async def register_types(connection: AsyncConnection[Any]) -> None:
    """Teach the connection the types above; raise `FailedPrecondition` where the extension `vector` is missing."""
    for name, kind in (("halfvec", HalfVector), ("sparsevec", SparseVector), ("tsvector", TextSearchVector)):
        information = await TypeInfo.fetch(connection, name)
        if information is None:
            message = "The database lacks the extension pgvector 0.8 or later: CREATE EXTENSION vector, as superuser."
            raise FailedPrecondition(message)
        information.register(connection)
        connection.adapters.register_dumper(kind, _wire_dumper(information.oid))
    connection.adapters.register_dumper(IntegerArray, _wire_dumper(INTEGER_ARRAY_OID))
    connection.adapters.register_dumper(TextArray, _wire_dumper(TEXT_ARRAY_OID))
    connection.adapters.register_loader("uuid", IdTextLoader)
    connection.adapters.register_loader("uuid", IdBinaryLoader)


class IdTextLoader(Loader):
    """Reads an id as the string it is everywhere else."""

    format = Format.TEXT

    def load(self, data: Buffer) -> str:
        """Return the id in its canonical form."""
        return bytes(data).decode()


class IdBinaryLoader(Loader):
    """Reads an id from a cursor in binary mode."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        """Return the id in its canonical form."""
        digits = bytes(data).hex()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _wire_dumper(type_oid: int) -> type[Dumper]:
    class WireDumper(Dumper):
        format = Format.BINARY
        oid = type_oid

        def dump(self, obj: bytes) -> Buffer:
            return obj

    return WireDumper
