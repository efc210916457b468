"""A recording from its file to its sentences with their times: the real decoder and model, in their process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from eval import shared_sets
from sourcier.services.chassis.errors import DocumentEmpty, ModelInvalid
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.index.places.place import TimePlace
from sourcier.services.ingest.components import transcriber_pool
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.parts import part_file
from sourcier.services.ingest.settings import IngestSettings
from sourcier.services.ingest.stages.by_parts.transcribers import Transcribers
from tests.integration.ingest.parsing.fix_locked_in import locked_in
from tests.needed_sets import needs
from tests.unit.ingest.fix_sound import RATE, recording

SAMPLE = "docling/tests/data/audio/sources/sample_10s.mp3"


@pytest.fixture
def settings() -> IngestSettings:
    made = IngestSettings(
        speech=True, stages="speech", nats_url=SecretStr("nats://nobody"),
        postgres_url=SecretStr("postgresql://nobody"), s3_url="http://nobody", speech_part_seconds_max=250,
    )
    try:
        ModelStore(made.models_root).describe(made.speech_model)
    except ModelInvalid as error:
        pytest.skip(f"{error}: no speech model, nothing is heard")
    return made


async def heard(pool: Transcribers, path: Path, folder: Path) -> ParsedDocument:
    """Return a recording as a document."""
    await asyncio.to_thread(folder.mkdir)
    numbers = await pool.parts(path, filename=path.name, content_type="")
    async for part in pool.read(path, filename=path.name, content_type="", parts=numbers, attempt=3):
        part_file(folder, part.number).write_bytes(part.content)
    return ParsedDocument.from_bytes(await pool.assemble(path, folder, filename=path.name, content_type=""))


@needs("documents")
@pytest.mark.usefixtures("keeping_priority")
@pytest.mark.timeout(300)
async def test_speech_is_heard_with_its_times_and_noise_is_not(settings: IngestSettings, tmp_path: Path) -> None:
    documents = shared_sets.find("documents")
    assert documents is not None
    noise = np.random.default_rng(1).normal(0, 0.05, 4 * RATE).astype(np.float32)
    async with transcriber_pool(settings) as pool:
        document, _ = await asyncio.gather(
            heard(pool, documents / SAMPLE, tmp_path / "speech"), locked_in(pool, seconds=200)
        )
        assert document.title == "Shakespeare on Scenery"
        assert "by Oscar Wilde" in document.text
        start = document.text.index("All Lib")
        (place,) = document.places.places(start, start + 10)
        assert isinstance(place, TimePlace)
        assert 5_000 < place.start_milliseconds < 9_000
        assert place.end_milliseconds < 10_500
        with pytest.raises(DocumentEmpty, match="No speech was heard"):
            await heard(pool, recording(tmp_path / "noise.wav", noise), tmp_path / "noise")
