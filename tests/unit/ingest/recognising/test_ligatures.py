"""Ligatures that OCR does not see, mended by vocabulary; and rules on a drawn page."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sourcier.services.ingest.recognising.detection import strips
from sourcier.services.ingest.recognising.ligatures import mended
from sourcier.services.ingest.recognising.reading import Character
from sourcier.services.ingest.recognising.ruling import find_rules


def read(text: str, *, ligature: bool = False) -> str:
    characters = [Character(sign, 0.0, 0.9, ligature) for sign in text]
    return "".join(character.text for character in mended(characters))


@pytest.mark.parametrize(("found", "meant"), [
    ("Euvres", "Œuvres"), ("CEUVRES", "ŒUVRES"), ("EUVRE", "ŒUVRE"), ("ceuvre", "œuvre"),
    ("main-d'ceuvre", "main-d'œuvre"),
    ("l'Euvre", "l'Œuvre"), ("manceuvre", "manœuvre"), ("MANCEUVRE", "MANŒUVRE"), ("cceur", "cœur"), ("sceur", "sœur"),
    ("nceud", "nœud"), ("bceuf", "bœuf"), ("vceux", "vœux"), ("chceur", "chœur"), ("manouvres", "manœuvres"),
    ("« Euvres », dit-il", "« Œuvres », dit-il"), ("d'ceil", "d'œil"), ("noud", "nœud"), ("(écceurant)", "(écœurant)"),
])
def test_ligatures_are_mended(found: str, meant: str) -> None:
    assert read(found) == meant


@pytest.mark.parametrize("text", [
    "cour", "ouf", "ouvrir", "ouvre", "cela", "ces", "Europe", "euro", "cent", "ceux", "ceinture", "Ceylan", "oiseau",
    "coeur", "EUR", "œuvre", "", "ouverture", "bout", "mourir", "Encre", "choisir", "soeur",
])
def test_other_words_stay(text: str) -> None:
    assert read(text) == text


def test_what_may_be_either_is_told_by_the_model() -> None:
    assert read("cour", ligature=True) == "cœur"
    assert read("ouvres", ligature=True) == "œuvres"


@pytest.mark.parametrize(("length", "part"), [
    (8_000, 1_000), (8_001, 736), (999, 1_000), (1_000, 1_000), (1_050, 1_000),
])
def test_a_long_strip_is_looked_at_in_parts_that_overlap(length: int, part: int) -> None:
    parts = strips(length, part=part)
    assert (parts[0][0], parts[-1][1]) == (0, length)
    assert all(before[1] - after[0] >= part // 11 for before, after in pairwise(parts))
    assert all(end - start <= part for start, end in parts)


def test_rules_are_long_dark_runs_and_letters_are_none() -> None:
    pixels = np.full((600, 800, 3), 255, np.uint8)
    pixels[100:103, 50:750] = 20
    pixels[100:500, 50:53] = 20
    pixels[300:330, 200:206] = 0  # the stroke of a letter
    pixels[400:460, 300:420] = 0  # a stain
    horizontal, vertical = find_rules(pixels, scale=0.5)
    assert [tuple(rule) for rule in horizontal] == [pytest.approx((51, 25, 375), abs=1)]
    assert [tuple(rule) for rule in vertical] == [pytest.approx((26, 50, 250), abs=1)]
