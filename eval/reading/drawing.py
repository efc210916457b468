"""Draws all documents into a folder, the same ones each time: `python -m eval.reading.drawing FOLDER`.

Runs in the environment of the peers (`requirements/readers.in`), which has what draws.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from eval.reading import forms, prose, scans, tables, truth
from eval.reading.prose import Writer
from eval.reading.truth import Document

SEED = 35
_KINDS: tuple[tuple[str, int, Any], ...] = (
    ("une", 12, partial(prose.columns, count=1)),
    ("deux", 20, partial(prose.columns, count=2)),
    ("trois", 12, partial(prose.columns, count=3)),
    ("mixte", 12, prose.mixed),
    ("liste", 12, prose.lists),
    ("entete", 4, prose.running),
    ("grille", 20, partial(tables.tables, kind="grid")),
    ("fusion", 16, partial(tables.tables, kind="spans")),
    ("filets", 16, partial(tables.tables, kind="lines")),
    ("aligne", 24, partial(tables.tables, kind="plain")),
    ("long-grille", 4, partial(tables.long, kind="long grid")),
    ("long-aligne", 4, partial(tables.long, kind="long plain")),
    ("encart", 8, tables.beside),
    ("note", 16, forms.notes),
    ("formulaire", 12, forms.form),
)
_TURNED = 12
_SCANNED = ("une", "deux", "liste")
"""Kinds of which scans are made, three documents each."""
_SCANS_OF_KIND = 3


def draw(folder: Path, *, seed: int = SEED, share: int = 1, scanned: bool = True) -> list[Document]:
    """Draw the documents and say what stands in them; of each kind one in `share`."""
    documents = list(_drawn(folder, seed, share))
    if scanned:
        for name in _SCANNED:
            chosen = [each for each in documents if each.name.startswith(f"{name}-")][:_SCANS_OF_KIND]
            documents += [
                scans.scan(folder, document, resolution=resolution, noisy=noisy)
                for document in chosen for resolution in scans.RESOLUTIONS for noisy in (False, True)
            ]
    truth.write(folder, documents)
    return documents


def _drawn(folder: Path, seed: int, share: int) -> Iterator[Document]:
    for kind, count, make in _KINDS:
        for number in range(0, count, share):
            yield make(folder, f"{kind}-{number:02}.pdf", Writer(f"{seed} {kind} {number}"))
    for number in range(0, _TURNED, share):
        chance = Writer(f"{seed} turned {number}")
        yield prose.columns(
            folder, f"tourne-{number:02}.pdf", chance, count=1 + number % 2, rotation=(90, 180, 270)[number % 3]
        )


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    draw(target, seed=int(sys.argv[2]) if len(sys.argv) > 2 else SEED)
