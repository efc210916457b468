"""Text is read in the encoding it was written in, short texts too."""

from __future__ import annotations

import pytest

from sourcier.services.ingest.parsing.text.encodings import decode, looks_binary

FRENCH = "Le télétravail est limité à deux jours par semaine. L'été, c'est « libre » : 12 € par repas."


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "cp1252"]
)
@pytest.mark.parametrize("text", [FRENCH, FRENCH * 40, "Été à Noël"])
def test_french_survives(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding))[0] == text


def test_latin_1_and_other_scripts() -> None:
    assert decode("Déjà vu à l'école".encode("latin-1"))[0] == "Déjà vu à l'école"
    russian = (
        "Каждый работник имеет право на ежегодный оплачиваемый отпуск продолжительностью двадцать восемь дней. " * 4
    )
    assert decode(russian.encode("cp1251"))[0] == russian


def test_damaged_utf_8_stays_utf_8() -> None:
    content = FRENCH.encode() + b" \xff\xc3 fin"
    text, encoding = decode(content)
    assert encoding == "utf-8"
    assert text.startswith(FRENCH)
    assert "�" in text


@pytest.mark.parametrize(
    ("content", "binary"),
    [(b"", False), (FRENCH.encode(), False), (FRENCH.encode("utf-16"), False), (bytes(range(256)) * 4, True)],
)
def test_binary_is_told_from_text(content: bytes, binary: bool) -> None:
    assert looks_binary(content) is binary
