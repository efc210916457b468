"""Text is read in the encoding it was written in, short texts too."""

from __future__ import annotations

import pytest

from sourcier.services.ingest.parsing.text.encodings import decode, decoded_text, looks_binary

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


PHRASES = (
    "La pièce détachée est livrée à l'entrepôt", "Câble électrifié", "Café d'été à Évreux", "Congés payés",
    "Où est-ce ?",
    "Le maître d'ouvrage a reçu le dossier", "ÉTAT DES LIEUX", "RÈGLEMENT INTÉRIEUR", "« Bonjour », dit-il.", "37,5 °C",
    "À faire", "Noël à Liège, août à Nîmes", "Boîte à pêche;Crème brûlée", "Größe der Tür", "São João",
)


@pytest.mark.parametrize(
    "encoding", ["cp1252", "latin-1", "iso8859-15", "cp850", "mac_roman", "utf-16-le", "utf-16-be"]
)
@pytest.mark.parametrize("phrase", PHRASES)
def test_the_letters_tell_the_encoding(encoding: str, phrase: str) -> None:
    assert decode(phrase.encode(encoding))[0] == phrase


@pytest.mark.parametrize(("encoding", "phrase"), [
    ("cp437", "La pièce détachée est livrée à l'entrepôt"), ("cp858", "Un café à 2 €"),
    ("iso8859-15", "Le cœur de l'œuvre coûte 12 €"), ("mac_roman", "L’œuvre d’été – « finie » – à 3 €…"),
    ("cp1252", "L’œuvre d’été – « finie » – à 3 €…"),
])
def test_the_signs_tell_the_encoding(encoding: str, phrase: str) -> None:
    assert decode(phrase.encode(encoding))[0] == phrase


def test_a_weak_guess_is_told_and_a_sure_one_is_not() -> None:
    assert decoded_text(b"Prix \xd5").rivals
    assert not decoded_text("La pièce détachée est livrée à l'entrepôt".encode("cp850")).rivals
