"""Files saved and pages drawn by the command line: whole or not at all, and how what is marked was found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sourcier.cli.answers.search import record_of_place
from sourcier.cli.documents.originals import draw_page, draw_picture, get_original
from sourcier.cli.failure import Failure
from sourcier.client import Client
from sourcier.errors import SourcierError
from sourcier.gateway.v1 import place_pb2
from tests.unit.sdk.fake_gateway import FakeGateway

DOCUMENT = "document-1"


async def test_an_original_is_saved_whole(client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "charte.pdf"
    path.write_bytes(b"an older one")
    await get_original(client, DOCUMENT, output=str(path), version_id="", as_json=False)
    assert path.read_bytes() == b"%PDF-1.7 page"
    assert "charte.pdf, 13 B" in capsys.readouterr().out
    assert os.listdir(tmp_path) == ["charte.pdf"]


async def test_an_original_that_is_damaged_on_its_way_leaves_what_was_there(
    client: Client, gateway: FakeGateway, tmp_path: Path
) -> None:
    path = tmp_path / "charte.pdf"
    path.write_bytes(b"an older one")
    gateway.damage = b"!"
    with pytest.raises(SourcierError, match="SHA-256"):
        await get_original(client, DOCUMENT, output=str(path), version_id="", as_json=False)
    assert path.read_bytes() == b"an older one"
    assert os.listdir(tmp_path) == ["charte.pdf"]


async def test_a_folder_that_is_not_there_is_told(client: Client, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="cannot be written"):
        await get_original(client, DOCUMENT, output=str(tmp_path / "none" / "a.pdf"), version_id="", as_json=False)


@pytest.mark.parametrize(("chunk", "told"), [
    (None, "page 2 of 3, 10 × 14 pixels"), (1, "marked chunk 1: 6 rectangles"), (7, "found by its text"),
])
async def test_a_page_is_drawn_and_how_its_chunk_was_found_is_told(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str], chunk: int | None, told: str
) -> None:
    path = tmp_path / "page.png"
    await draw_page(client, DOCUMENT, page=2, image=str(path), dpi=0, chunk=chunk, as_json=False)
    assert path.read_bytes() == b"\x89PNG and more"
    captured = capsys.readouterr()
    assert told in captured.out + captured.err


async def test_a_picture_is_written_by_its_number(
    client: Client, gateway: FakeGateway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "picture.png"
    await draw_picture(client, DOCUMENT, picture=2, image=str(path), as_json=False)
    assert path.read_bytes() == b"\x89PNG and more"
    assert "picture 2 on page 1, 10 × 14 pixels" in capsys.readouterr().out
    assert gateway.requests[-1].picture == 2


@pytest.mark.parametrize(("place", "record"), [
    (place_pb2.Place(page=place_pb2.PagePlace(
        number=3, label="iii", width=595, height=842, rectangles=[place_pb2.Rectangle(left=1, top=2, width=3, height=4)]
    )), {"page": 3, "label": "iii", "width": 595, "height": 842, "rectangles": [[1, 2, 3, 4]]}),
    (place_pb2.Place(cells=place_pb2.CellsPlace(sheet="Budget", range="A1:B2")), {"sheet": "Budget", "cells": "A1:B2"}),
    (place_pb2.Place(slide=place_pb2.SlidePlace(number=4)), {"slide": 4}),
    (place_pb2.Place(lines=place_pb2.LinesPlace(first=4, last=9)), {"lines": [4, 9]}),
    (place_pb2.Place(paragraphs=place_pb2.ParagraphsPlace(first=4, last=4)), {"paragraphs": [4, 4]}),
    (place_pb2.Place(slide=place_pb2.SlidePlace(number=4), picture=2), {"slide": 4, "picture": 2}),
    (place_pb2.Place(picture=1), {"picture": 1}),
    (place_pb2.Place(), {}),
])
def test_a_program_gets_places_as_json(place: place_pb2.Place, record: object) -> None:
    assert record_of_place(place) == record
