"""The two states of a machine: what others made is in its place, as a small imitation, or its folder is absent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval import shared_sets

TEXTS = ("La tour mesure 324 mètres.", "Le pont date de 1578.", "Le musée ouvre à neuf heures.")
SENTENCE = "Il faut un justificatif de domicile, même à l'étranger. "


@pytest.fixture
def sets_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `../shared/data` be a folder that does not exist."""
    monkeypatch.setattr(shared_sets, "ROOT", tmp_path / "absent")


@pytest.fixture
def sets_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let `../shared/data` be a folder with one small retrieval set and two sheets; return it."""
    root = tmp_path / "data"
    piaf, sheets = root / shared_sets.PIAF, root / shared_sets.SHEETS
    piaf.mkdir(parents=True)
    sheets.mkdir(parents=True)
    passages = [{"_id": f"p{number}", "title": "", "text": text} for number, text in enumerate(TEXTS)]
    asked = [{"_id": f"q{number}", "text": f"Question {number} ?"} for number in range(len(TEXTS))]
    for name, rows in (("corpus", passages), ("queries", asked)):
        (piaf / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    graded = "".join(f"q{number}\tp{number}\t1\n" for number in range(len(TEXTS)))
    (piaf / "qrels.tsv").write_text(f"query\tpassage\tgrade\n{graded}", "utf-8")
    for name in ("F1.txt", "F2.txt"):
        (sheets / name).write_text(f"Fiche {name}\n\n{SENTENCE * 20}", "utf-8")
    monkeypatch.setattr(shared_sets, "ROOT", root)
    return root
