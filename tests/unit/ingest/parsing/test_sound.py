"""Recordings: told by their bytes, decoded part by part, and what was heard as a document; without a model."""

from __future__ import annotations

import json
import struct
import wave
from pathlib import Path

import numpy as np
import pytest

from sourcier.services.chassis.errors import DocumentEmpty, DocumentMalformed
from sourcier.services.index.places.place import TimePlace
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.formats import Format, recognise
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.sound import reader, transcript
from sourcier.services.ingest.parsing.sound.kinds import sound_kind
from sourcier.services.ingest.parsing.sound.transcript import Segment, TranscribedPart, clock, part_count
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.zygote import ARTEFACT
from sourcier.services.ingest.reading_warnings import WarningCode
from sourcier.services.ingest.transcribing import decoding
from sourcier.services.ingest.transcribing.decoding import SAMPLE_RATE, decode_part, probe
from sourcier.services.ingest.transcribing.keys import SECONDS_MAX
from sourcier.services.ingest.transcribing.zygote import work
from tests.unit.ingest.fix_parsing import parse
from tests.unit.ingest.fix_sound import CODECS, heard, recording, tone


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of three seconds that end up to one second earlier."""
    for module in (transcript, decoding, reader):
        monkeypatch.setattr(module, "PART_SECONDS", 3, raising=module is not reader)
    monkeypatch.setattr(decoding, "BORDER_SECONDS", 1)


def part(number: int, *said: tuple[float, float, str], **fields: object) -> TranscribedPart:
    segments = tuple(Segment(start, end, text, 0.9) for start, end, text in said)
    return TranscribedPart(number, segments, "fr", **fields)  # type: ignore[arg-type]


def codes(document: ParsedDocument) -> dict[WarningCode, tuple[str, ...]]:
    return {warning.code: warning.places for warning in document.warnings}


@pytest.mark.parametrize("kind", CODECS)
def test_a_recording_is_told_by_its_bytes_and_as_long_as_it_is(tmp_path: Path, kind: str) -> None:
    path = recording(tmp_path / "note.bin", tone(2), kind=kind)
    assert recognise(path, filename="note.bin").format is Format.SOUND
    found = probe(path, filename="note.bin")
    assert found.seconds == pytest.approx(2, abs=0.15)
    samples = decode_part(path, 1, filename="note.bin", seconds=found.seconds).samples
    assert len(samples) / SAMPLE_RATE == pytest.approx(2, abs=0.15)
    assert np.abs(samples).max() > 0.2


@pytest.mark.parametrize(("name", "kind", "told"), [
    ("note.mp3", "wav", False), ("note.wav", "m4a", False), ("note.pdf", "mp3", True), ("note.docx", "ogg", True),
])
def test_a_wrong_extension_is_told_where_it_names_something_else(
    tmp_path: Path, name: str, kind: str, told: bool
) -> None:
    path = recording(tmp_path / name, tone(1), kind=kind)
    found = recognise(path, filename=name)
    assert found.format is Format.SOUND
    assert [warning.code for warning in found.warnings] == [WarningCode.TYPE_DIFFERS] * told


@pytest.mark.parametrize("head", [
    b"\xff\xfe\xe9\x00t\x00", b"\xff\xd8\xff\xe0", b"%PDF-1.7", bytes(4) + b"ftypheic", b"RIFF\x00\x00\x00\x00WEBP",
    b"", b"ID", b"\xff\xff\xff\xff", b"#EXTM3U\nfile.mp3",
])
def test_other_files_are_no_recordings(head: bytes) -> None:
    assert sound_kind(head) is None


def test_a_title_tag_before_another_format_hides_nothing() -> None:
    tag = b"ID3\x04\x00\x00\x00\x00\x00\x0a" + bytes(10)
    assert (sound_kind(tag + b"fLaC") or sound_kind(b"fLaC"))._asdict()["reader"] == "flac"  # type: ignore[union-attr]
    kind = sound_kind(tag + b"\xff\xfb\x90\x00")
    assert kind is not None
    assert kind.reader == "mp3"


def test_a_recording_is_left_to_speech_recognition_or_refused_with_the_way_out(tmp_path: Path) -> None:
    path = recording(tmp_path / "note.mp3", tone(1))
    document = parse(Source(path, "note.mp3", speech=True))
    assert (document.recorded, document.text) == (True, "")
    with pytest.raises(DocumentEmpty, match="SOURCIER_INGEST_SPEECH"):
        parse(Source(path, "note.mp3"))


@pytest.mark.usefixtures("short_parts")
@pytest.mark.parametrize("kind", ["wav", "mp3", "flac", "m4a", "ogg", "aac"])
def test_parts_meet_where_it_is_quiet_and_leave_nothing_out(tmp_path: Path, kind: str) -> None:
    path = recording(tmp_path / f"note.{kind}", tone(10, quiet=[(2.4, 2.6), (5.2, 5.5), (8.5, 8.7)]))
    seconds = probe(path, filename=path.name).seconds
    parts = [decode_part(path, n, filename=path.name, seconds=seconds) for n in range(1, part_count(seconds) + 1)]
    assert [each.start for each in parts[:4]] == pytest.approx([0, 2.5, 5.35, 8.6], abs=0.2)
    ends = [each.start + len(each.samples) / SAMPLE_RATE for each in parts]
    assert ends[:-1] == pytest.approx([each.start for each in parts[1:]], abs=0.06)
    assert ends[-1] == pytest.approx(seconds, abs=0.2)
    whole = np.concatenate([each.samples for each in parts])
    assert len(whole) / SAMPLE_RATE == pytest.approx(seconds, abs=0.3)


@pytest.mark.parametrize("kind", ["wav", "mp3", "flac", "ogg", "mkv"])
def test_a_file_that_is_cut_short_is_read_as_far_as_it_goes(tmp_path: Path, kind: str) -> None:
    path = recording(tmp_path / f"note.{kind}", tone(20))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    document = heard(path, part(1, (0.5, 4, "La cantine ouvre à midi.")))
    assert document.text == "La cantine ouvre à midi."
    assert probe(path, filename=path.name).seconds == pytest.approx(10, abs=2.5)
    if kind in ("mp3", "flac", "mkv"):  # The others do not say how long they are.
        (place,) = codes(document)[WarningCode.SOUND_DAMAGED]
        assert place.endswith("–0:20")


def test_a_file_damaged_in_the_middle_is_read_around_it(tmp_path: Path) -> None:
    path = recording(tmp_path / "note.flac", tone(10))
    body = bytearray(path.read_bytes())
    body[len(body) // 2 : len(body) // 2 + 4_000] = bytes(4_000)
    path.write_bytes(body)
    decoded = decode_part(path, 1, filename="note.flac", seconds=10)
    assert decoded.damaged > 0
    assert len(decoded.samples) / SAMPLE_RATE == pytest.approx(10, abs=0.5)
    document = heard(path, part(1, (0.5, 4, "La cantine ouvre à midi."), damaged=decoded.damaged))
    assert codes(document)[WarningCode.SOUND_DAMAGED] == ("0:00–0:10",)


@pytest.mark.parametrize("kind", ["m4a", "flac", "ogg", "mkv", "wav", "mp3"])
def test_a_file_that_is_only_a_beginning_is_refused(tmp_path: Path, kind: str) -> None:
    path = recording(tmp_path / f"note.{kind}", tone(2))
    path.write_bytes(path.read_bytes()[:30] + b"\x00" * 40)
    with pytest.raises(DocumentMalformed, match="damaged or cut short"):
        probe(path, filename=path.name)


@pytest.mark.parametrize(("rate", "channels", "error"), [
    (1, 1, "no speech is recorded so"), (0, 1, "damaged"), (2**32 - 1, 1, "damaged"), (8000, 0, "damaged"),
    (8000, 65_535, "damaged"),
])
def test_a_header_that_lies_is_refused(tmp_path: Path, rate: int, channels: int, error: str) -> None:
    path = tmp_path / "note.wav"
    sound = bytes(60_000)
    path.write_bytes(b"".join((
        b"RIFF", struct.pack("<I", 36 + len(sound)), b"WAVEfmt ",
        struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * 2 & 0xFFFF_FFFF, 2, 16), b"data",
        struct.pack("<I", len(sound)), sound,
    )))
    with pytest.raises(DocumentMalformed, match=error):
        probe(path, filename="note.wav")


def test_channels_that_cannot_be_mixed_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "note.wav"
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(255)
        sound.setsampwidth(2)
        sound.setframerate(16_000)
        sound.writeframes(bytes(255 * 2 * 16_000))
    assert decode_part(path, 1, filename="note.wav", seconds=1).damaged > 0


@pytest.mark.parametrize(("seconds_max", "parts"), [(36_000, [1, 2, 3]), (600, [1, 2]), (30, [1])])
def test_of_a_long_recording_as_many_minutes_are_heard_as_the_setting_says(
    tmp_path: Path, seconds_max: float, parts: list[int]
) -> None:
    path = tmp_path / "note.wav"
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8_000)
        sound.writeframes(bytes(8_000 * 660))
    source = {"path": str(path), "filename": "note.wav", "content_type": "", SECONDS_MAX: seconds_max}
    work(tmp_path, source, ParsingLimits())
    assert json.loads((tmp_path / ARTEFACT).read_text()) == parts


def test_of_a_video_the_sound_is_read_and_the_pictures_are_told(tmp_path: Path) -> None:
    document = heard(
        recording(tmp_path / "film.mp4", tone(2), video=True, title="Réunion"), part(1, (0, 1, "Bonjour à tous."))
    )
    assert (document.title, document.text) == ("Réunion", "Bonjour à tous.")
    assert WarningCode.VIDEO_NOT_READ in codes(document)


def test_silence_is_refused_with_how_long_it_is(tmp_path: Path) -> None:
    path = recording(tmp_path / "note.wav", tone(65, quiet=[(0, 65)]))
    with pytest.raises(DocumentEmpty, match=r"No speech was heard in the recording “note\.wav”: 1:05 of silence"):
        heard(path, part(1))


def test_nothing_but_a_part_that_failed_is_refused_with_its_reason(tmp_path: Path) -> None:
    path = recording(tmp_path / "note.wav", tone(2))
    with pytest.raises(DocumentEmpty, match="it takes more time"):
        heard(path, TranscribedPart.failed(1, "it takes more time or memory than is allowed"))


@pytest.mark.usefixtures("short_parts")
def test_what_was_not_heard_is_told_with_its_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SILENCE_SECONDS_MIN", 2.0)
    path = recording(tmp_path / "note.wav", tone(12))
    unsure = TranscribedPart(3, (Segment(6.2, 6.8, "Peut-être bien.", 0.2),), "fr")
    document = heard(path, part(1, (0, 2.9, "Tout est dit.")), TranscribedPart.failed(2, "it is damaged"), unsure)
    assert codes(document) == {
        WarningCode.SOUND_NOT_RECOGNISED: ("0:03–0:06",), WarningCode.SPEECH_UNSURE: ("0:06",),
        WarningCode.WITHOUT_SPEECH: ("0:06–0:09",), WarningCode.RECORDING_TOO_LONG: ("0:09–0:12",),
    }


def test_each_sentence_knows_its_times(tmp_path: Path) -> None:
    path = recording(tmp_path / "note.wav", tone(30))
    document = heard(path, part(
        1, (0.5, 4.25, " La cantine  ouvre à midi."), (4.25, 9, "Elle ferme à quatorze heures."),
        (12, 15, "Le parking, lui, reste ouvert."),
    ))
    first, second = document.text.split("\n\n")
    assert first == "La cantine ouvre à midi. Elle ferme à quatorze heures."
    assert second == "Le parking, lui, reste ouvert."
    start = document.text.index("Elle")
    assert document.places.places(start, start + 4) == (TimePlace(4250, 9000),)
    assert document.places.places(0, len(first)) == (TimePlace(500, 9000),)
    assert document.places.places(len(first), len(document.text)) == (TimePlace(12_000, 15_000),)
    again = ParsedDocument.from_bytes(document.to_bytes())
    assert again.places == document.places


def test_segments_that_overlap_at_a_border_stay_in_order(tmp_path: Path) -> None:
    path = recording(tmp_path / "note.wav", tone(4))
    document = heard(path, part(1, (0, 3, "Un.")), part(2, (2.8, 4, "Deux.")))
    assert document.places.places(0, len(document.text)) == (TimePlace(0, 4000),)
    assert document.places.places(4, 9) == (TimePlace(3000, 4000),)


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (760.9, "12:40"), (3725, "1:02:05")])
def test_times_are_shown_as_players_do(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_a_stored_part_is_read_as_it_was_written() -> None:
    written = part(3, (1.25, 2.5, "Voilà."), damaged=2)
    assert TranscribedPart.from_bytes(written.to_bytes()) == written
    with pytest.raises(DocumentMalformed):
        TranscribedPart.from_bytes(b"nothing")
