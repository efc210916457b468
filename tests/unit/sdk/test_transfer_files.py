"""The files of an export: what others read them with, what is refused, and that half an export is none."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sourcier import errors
from sourcier.gateway.v1 import transfer_pb2
from sourcier.ingest.v1 import transfer_pb2 as internal_pb2
from sourcier.transfer_files import CHUNKS_A_MESSAGE, TransferReader, TransferWriter, npy_header
from tests.unit.gateway.contract.test_knowledge_messages import shape

DIMENSION = 4
MANIFEST = transfer_pb2.TransferManifest(
    export_id="0199a0c0-0000-7000-8000-000000000000", collection="rh", space_id="s", dimension=DIMENSION,
    document_count=9, chunk_count=99,
)


def chunk(document: int, index: int) -> transfer_pb2.TransferChunk:
    return transfer_pb2.TransferChunk(
        chunk_id=f"chunk-{document}-{index}", index=index, text=f"passage « {index} »\n", page=index + 1,
        heading_path=["Congés", "Pose"], language="fr", kind="text", token_count=3, end_character=12,
        vector=struct.pack("<4f", document, index, 0.5, -1), token_codes=bytes([index % 256]) * (index % 3),
    )


def stream(*counts: int) -> list[transfer_pb2.ExportCollectionResponse]:
    parts = [transfer_pb2.ExportCollectionResponse(manifest=MANIFEST)]
    for document, count in enumerate(counts):
        parts.append(transfer_pb2.ExportCollectionResponse(document=transfer_pb2.TransferDocument(
            document_id=f"document-{document}", source=f"{document}.md", content_sha256=bytes(32),
            metadata={"team": "paie"}, chunk_count=count, size_bytes=2**40,
        )))
        for start in range(0, count, CHUNKS_A_MESSAGE):
            page = [chunk(document, index) for index in range(start, min(start + CHUNKS_A_MESSAGE, count))]
            parts.append(transfer_pb2.ExportCollectionResponse(chunks=transfer_pb2.TransferChunks(chunks=page)))
    return parts


def write(folder: Path, *counts: int) -> None:
    with TransferWriter(folder) as writer:
        for part in stream(*counts):
            writer.add(part)
        writer.finish()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def test_numpy_and_any_json_reader_understand_the_files(tmp_path: Path) -> None:
    write(tmp_path / "out", 2, 0, 40)
    folder = tmp_path / "out"
    vectors = np.load(folder / "vectors.npy", allow_pickle=False)
    assert (vectors.dtype, vectors.shape, vectors.flags.c_contiguous) == (np.dtype("<f4"), (42, DIMENSION), True)
    assert vectors[5].tolist() == [2, 3, 0.5, -1]
    chunks = lines(folder / "chunks.jsonl")
    assert (folder / "ids.txt").read_text().split() == [entry["chunk_id"] for entry in chunks]
    assert {key: chunks[1][key] for key in ("chunk_id", "document_id", "page", "text")} == {
        "chunk_id": "chunk-0-1", "document_id": "document-0", "page": 2, "text": "passage « 1 »\n",
    }
    codes = (folder / "token_codes.bin").read_bytes()
    last = chunks[-2]
    assert codes[last["token_codes_offset"]:][: last["token_codes_bytes"]] == bytes([38]) * 2
    assert [entry["source"] for entry in lines(folder / "documents.jsonl")] == ["0.md", "1.md", "2.md"]
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["format"], manifest["document_count"], manifest["chunk_count"]) == (1, "3", "42")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write(tmp_path / "out", 2, 0, 40)
    first, *rest = TransferReader(tmp_path / "out").requests(collection="autre")
    assert (first.header.collection, first.header.manifest.chunk_count) == ("autre", 42)
    sent = [each.SerializeToString(deterministic=True) for each in stream(2, 0, 40)[1:]]
    # Documents and chunks have the same numbers in both messages.
    assert [each.SerializeToString(deterministic=True) for each in rest] == sent


@pytest.mark.parametrize("rows", [0, 1, 10**9])
def test_the_header_is_numpys(tmp_path: Path, rows: int) -> None:
    header = npy_header(rows, 1024)
    with (tmp_path / "header").open("w+b") as file:
        file.write(header)
        file.seek(0)
        assert np.lib.format.read_magic(file) == (1, 0)
        assert np.lib.format.read_array_header_1_0(file) == ((rows, 1024), False, np.dtype("<f4"))
        assert file.tell() == len(header)
    assert len(header) % 64 == 0


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    for folder in (tmp_path, tmp_path / "mine"):
        with pytest.raises(errors.AlreadyExists, match="not an empty folder"):
            TransferWriter(folder).__enter__()
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", 1)
    assert (tmp_path / "empty" / "ids.txt").exists()


def test_an_export_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with TransferWriter(tmp_path / "out") as writer:
            for part in stream(2):
                writer.add(part)
            raise errors.Unavailable("gone")

    with pytest.raises(errors.Unavailable):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "old", "new", "told"), [
    ("manifest.json", '"format": 1', '"format": 2', "format 1"),
    ("manifest.json", '"dimension": 4', '"dimension": 8', "rows of 4"),
    ("manifest.json", '"dimension"', '"wrong"', "no field named"),
    ("chunks.jsonl", "document-0", "document-7", "where a chunk of document-0 belongs"),
    ("chunks.jsonl", '"token_codes_offset": 0', '"token_codes_offset": 1', "misplaces the token codes"),
    ("chunks.jsonl", '{"chunk_id"', "{chunk_id", "cannot be read at chunks.jsonl"),
    ("documents.jsonl", '"chunk_count": 3', '"chunk_count": 4', "ends before the chunks"),
    ("documents.jsonl", '"chunk_count": 3', '"chunk_count": 2', "more chunks than"),
    ("documents.jsonl", "{", "[", "cannot be read at documents.jsonl, line 1"),
    ("ids.txt", "chunk-0-1", "chunk-0-2", "differ at chunk-0-1"),
])
def test_files_that_do_not_fit_together_are_refused(
    tmp_path: Path, name: str, old: str, new: str, told: str
) -> None:
    write(tmp_path / "out", 3)
    rewrite(tmp_path / "out" / name, old, new)
    with pytest.raises(errors.InvalidArgument, match=told) as refused:
        list(TransferReader(tmp_path / "out").requests())
    assert "\n" not in refused.value.message


def test_files_that_are_cut_off_or_missing_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "out", 3)
    for name in ("token_codes.bin", "vectors.npy", "ids.txt"):
        path = tmp_path / "out" / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-2])
        with pytest.raises(errors.InvalidArgument, match=name):
            list(TransferReader(tmp_path / "out").requests())
        path.unlink()
        with pytest.raises(errors.InvalidArgument, match=f"no {name}"):
            list(TransferReader(tmp_path / "out").requests())
        path.write_bytes(whole)
    np.save(tmp_path / "out" / "vectors.npy", np.zeros((3, DIMENSION)))
    with pytest.raises(errors.InvalidArgument, match="float32"):
        list(TransferReader(tmp_path / "out").requests())
    with pytest.raises(errors.InvalidArgument, match=r"no manifest\.json"):
        TransferReader(tmp_path)


@pytest.mark.parametrize("message", ["ImportCollectionRequest", "ImportCollectionResponse"])
def test_the_messages_that_pass_as_bytes_are_alike(message: str) -> None:
    public, internal = (
        module.DESCRIPTOR.message_types_by_name[message] for module in (transfer_pb2, internal_pb2)
    )
    assert shape(public) == shape(internal)
