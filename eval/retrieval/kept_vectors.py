"""What the embedding model made of texts, kept text by text: no text is encoded twice, whatever set it is part of."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

ASKED_FOR_MAX = 500
"""Keys in one statement."""


@dataclass(frozen=True, slots=True)
class KeptText:
    """One text, encoded."""

    vector: npt.NDArray[np.float32]
    """Pooled, shape (dimension,)."""
    codes: npt.NDArray[np.uint8]
    """Sign bits, shape (tokens, dimension / 8)."""
    full: npt.NDArray[np.floating]
    """The tokens' vectors, shape (tokens, dimension); of no rows where they were not asked for."""
    weights: npt.NDArray[np.float32]
    """Shape (tokens,)."""


class KeptVectors:
    """A file of encoded texts by digest; several processes may write into it."""

    def __init__(self, path: Path, *, full_type: type[np.floating]) -> None:
        """Open the file, or begin it; `full_type` is what the tokens' vectors are of."""
        self._path = path
        self._full_type = full_type
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._connect()) as connection, connection:
            connection.execute(
                "create table if not exists encoded (digest text primary key, vector blob, codes blob, full blob,"
                " weights blob) without rowid"
            )

    def held(self, digests: Sequence[str]) -> frozenset[str]:
        """Return those digests that are there."""
        return frozenset(digest for digest, *_ in self._rows("digest", digests))

    def add(self, encoded: Mapping[str, KeptText]) -> None:
        """Keep texts by digest, on the disk before this returns."""
        rows = [
            (digest, each.vector.astype(np.float32).tobytes(), each.codes.tobytes(),
             each.full.astype(self._full_type).tobytes(), each.weights.astype(np.float32).tobytes())
            for digest, each in encoded.items()
        ]
        with closing(self._connect()) as connection, connection:
            connection.executemany("insert or ignore into encoded values (?, ?, ?, ?, ?)", rows)

    def of(self, digests: Sequence[str]) -> dict[str, KeptText]:
        """Return the texts of digests that are held."""
        found = {}
        for digest, vector, codes, full, weights in self._rows("*", digests):
            dimension = len(vector) // np.dtype(np.float32).itemsize
            found[digest] = KeptText(
                np.frombuffer(vector, np.float32), np.frombuffer(codes, np.uint8).reshape(-1, dimension // 8),
                np.frombuffer(full, self._full_type).reshape(-1, dimension), np.frombuffer(weights, np.float32),
            )
        return found

    def _rows(self, columns: str, digests: Iterable[str]) -> Iterator[tuple[str, bytes, bytes, bytes, bytes]]:
        asked = list(dict.fromkeys(digests))
        with closing(self._connect()) as connection:
            for begin in range(0, len(asked), ASKED_FOR_MAX):
                part = asked[begin : begin + ASKED_FOR_MAX]
                marks = ", ".join("?" * len(part))
                yield from connection.execute(f"select {columns} from encoded where digest in ({marks})", part)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60.0)
