"""The files of an exported collection, written and read a page at a time.

    manifest.json     what was exported, and what it was made with
    documents.jsonl   one document a line, by id
    chunks.jsonl      one chunk a line, by document and place in it, with where its token codes lie, and what is known
                      of it (`unit`)
    ids.txt           the chunks' ids, in the same order
    vectors.npy       float32, C order, one row a chunk, in the same order
    token_codes.bin   the token codes, one after the other
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from google.protobuf import json_format

from sourcier import errors
from sourcier.gateway.v1 import transfer_pb2

FORMAT = 1
FLOAT_BYTES = 4
CHUNKS_A_MESSAGE = 32
MESSAGE_BYTES_MAX = 3 * 1024**2
"""Of chunks: with what is known of one, it may take most of a megabyte."""

# NumPy's own format, version 1.0: magic, version, length of the header, header, rows.
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER_BYTES = 128
"""In all; the shape, known at the end alone, is written into the space that was left."""
_FILES = ("documents.jsonl", "chunks.jsonl", "ids.txt", "vectors.npy", "token_codes.bin")


class TransferWriter:
    """Writes an export beside its folder, which it becomes when all is written; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened = ExitStack()
        self._manifest: transfer_pb2.TransferManifest | None = None
        self._document_id = ""
        self._code_bytes = 0
        self.document_count = 0
        self.chunk_count = 0

    def __enter__(self) -> Self:
        if self._folder.exists() and (not self._folder.is_dir() or any(self._folder.iterdir())):
            raise errors.AlreadyExists(f"{self._folder} is not an empty folder", hint="name another folder")
        parent = self._folder.absolute().parent
        parent.mkdir(parents=True, exist_ok=True)
        self._partial = Path(tempfile.mkdtemp(prefix=f".{self._folder.name}.", suffix=".partial", dir=parent))
        self._documents, self._chunks, self._ids, self._vectors, self._codes = (
            self._opened.enter_context((self._partial / name).open("wb")) for name in _FILES
        )
        self._vectors.write(bytes(_HEADER_BYTES))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()
        shutil.rmtree(self._partial, ignore_errors=True)

    def add(self, part: transfer_pb2.ExportCollectionResponse) -> None:
        """Write one part of the stream."""
        kind = part.WhichOneof("part")
        if kind == "manifest":
            self._manifest = part.manifest
        elif kind == "document":
            self._document_id = part.document.document_id
            self.document_count += 1
            fields = _fields(part.document)
            # Left out where nothing was said: who reads by an earlier release knows no such fields.
            for name in ("set_dates", "relations"):
                if not fields[name]:
                    del fields[name]
            _write_line(self._documents, fields)
        elif kind == "chunks":
            for chunk in part.chunks.chunks:
                self._add_chunk(chunk)

    def _add_chunk(self, chunk: transfer_pb2.TransferChunk) -> None:
        assert self._manifest is not None
        if len(chunk.vector) != self._manifest.dimension * FLOAT_BYTES:
            raise errors.Internal(f"the chunk {chunk.chunk_id} came with a vector of {len(chunk.vector)} bytes")
        self._vectors.write(chunk.vector)
        self._codes.write(chunk.token_codes)
        self._ids.write(f"{chunk.chunk_id}\n".encode())
        fields = _fields(chunk)
        del fields["vector"], fields["token_codes"]
        _write_line(self._chunks, {
            "chunk_id": fields.pop("chunk_id"), "document_id": self._document_id, "page": fields.pop("page"),
            "text": fields.pop("text"), **fields, "token_codes_offset": self._code_bytes,
            "token_codes_bytes": len(chunk.token_codes),
        })
        self._code_bytes += len(chunk.token_codes)
        self.chunk_count += 1

    def finish(self) -> transfer_pb2.TransferManifest:
        """Complete the files and put them in their place; return the manifest, with what was counted."""
        if self._manifest is None:
            raise errors.Internal("the export ended before its manifest came")
        manifest = self._manifest
        manifest.document_count, manifest.chunk_count = self.document_count, self.chunk_count
        self._vectors.seek(0)
        self._vectors.write(npy_header(self.chunk_count, manifest.dimension))
        described = self._opened.enter_context((self._partial / "manifest.json").open("wb"))
        described.write(json.dumps({"format": FORMAT, **_fields(manifest)}, indent=2, ensure_ascii=False).encode())
        for file in (self._documents, self._chunks, self._ids, self._vectors, self._codes, described):
            file.flush()
            os.fsync(file.fileno())
        # Onto an empty folder, too; one that was filled meanwhile is refused by the system.
        os.rename(self._partial, self._folder.absolute())
        return manifest


class TransferReader:
    """Reads an export; what is missing or does not fit together is told with its place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        fields = self._json(self._text("manifest.json"), "manifest.json")
        if fields.pop("format", None) != FORMAT:
            raise _invalid(folder / "manifest.json", f"is not of an export of format {FORMAT}")
        self.manifest: transfer_pb2.TransferManifest = self._parsed(
            fields, transfer_pb2.TransferManifest(), "manifest.json"
        )

    def requests(self, *, collection: str = "") -> Iterator[transfer_pb2.ImportCollectionRequest]:
        """Yield the messages of an import."""
        with ExitStack() as opened:
            documents, chunks, ids, vectors, codes = (
                opened.enter_context(self._open(name)) for name in _FILES
            )
            rows, dimension = read_npy_header(vectors, self._folder / "vectors.npy")
            if (rows, dimension) != (self.manifest.chunk_count, self.manifest.dimension):
                raise _invalid(
                    self._folder / "vectors.npy",
                    f"has {rows} rows of {dimension}, the manifest {self.manifest.chunk_count} of "
                    f"{self.manifest.dimension}",
                )
            yield transfer_pb2.ImportCollectionRequest(
                header=transfer_pb2.ImportHeader(manifest=self.manifest, collection=collection)
            )
            for number, line in enumerate(documents, 1):
                place = f"documents.jsonl, line {number}"
                document = self._parsed(self._json(line, place), transfer_pb2.TransferDocument(), place)
                yield transfer_pb2.ImportCollectionRequest(document=document)
                page: list[transfer_pb2.TransferChunk] = []
                size = 0
                for _ in range(document.chunk_count):
                    chunk = self._chunk(document.document_id, chunks, ids, vectors, codes)
                    own = chunk.ByteSize()
                    if page and (len(page) == CHUNKS_A_MESSAGE or size + own > MESSAGE_BYTES_MAX):
                        yield _chunks_request(page)
                        page, size = [], 0
                    page.append(chunk)
                    size += own
                if page:
                    yield _chunks_request(page)
            if chunks.readline():
                raise _invalid(self._folder / "chunks.jsonl", "has more chunks than documents.jsonl tells")

    def _chunk(
        self, document_id: str, chunks: BinaryIO, ids: BinaryIO, vectors: BinaryIO, codes: BinaryIO
    ) -> transfer_pb2.TransferChunk:
        line = chunks.readline()
        if not line:
            raise _invalid(self._folder / "chunks.jsonl", f"ends before the chunks of the document {document_id} do")
        fields = self._json(line, "chunks.jsonl")
        chunk_id = fields.get("chunk_id")
        if fields.pop("document_id", None) != document_id:
            raise _invalid(self._folder / "chunks.jsonl", f"has {chunk_id} where a chunk of {document_id} belongs")
        if ids.readline().decode("utf-8", "replace").rstrip("\n") != chunk_id:
            raise _invalid(self._folder / "ids.txt", f"and chunks.jsonl differ at {chunk_id}")
        offset, code_bytes = fields.pop("token_codes_offset", None), fields.pop("token_codes_bytes", None)
        if not isinstance(code_bytes, int) or offset != codes.tell():
            raise _invalid(self._folder / "chunks.jsonl", f"misplaces the token codes of {chunk_id}")
        chunk = transfer_pb2.TransferChunk()
        self._parsed(fields, chunk, "chunks.jsonl")
        vector_bytes = self.manifest.dimension * FLOAT_BYTES
        chunk.vector, chunk.token_codes = vectors.read(vector_bytes), codes.read(code_bytes)
        for name, found, wanted in (("vectors.npy", chunk.vector, vector_bytes),
                                    ("token_codes.bin", chunk.token_codes, code_bytes)):
            if len(found) != wanted:
                raise _invalid(self._folder / name, f"is cut off at {chunk_id}")
        return chunk

    def _open(self, name: str) -> BinaryIO:
        try:
            return (self._folder / name).open("rb")
        except FileNotFoundError:
            raise _invalid(self._folder, f"is not an export: it has no {name}") from None

    def _text(self, name: str) -> bytes:
        with self._open(name) as file:
            return file.read()

    def _json(self, text: bytes, place: str) -> dict[str, Any]:
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise _invalid(self._folder, f"cannot be read at {place}: {error}") from None
        if not isinstance(fields, dict):
            raise _invalid(self._folder, f"cannot be read at {place}: not an object")
        return fields

    def _parsed(self, fields: dict[str, Any], message: Any, place: str) -> Any:
        try:
            return json_format.ParseDict(fields, message)
        except json_format.ParseError as error:
            raise _invalid(self._folder, f"cannot be read at {place}: {_first_line(error)}") from None


def _chunks_request(chunks: list[transfer_pb2.TransferChunk]) -> transfer_pb2.ImportCollectionRequest:
    return transfer_pb2.ImportCollectionRequest(chunks=transfer_pb2.TransferChunks(chunks=chunks))


def npy_header(rows: int, columns: int) -> bytes:
    """Return the beginning of a NumPy file of float32 in C order."""
    described = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}".encode()
    room = _HEADER_BYTES - len(_MAGIC) - 2
    return _MAGIC + struct.pack("<H", room) + described.ljust(room - 1) + b"\n"


def read_npy_header(file: BinaryIO, path: Path) -> tuple[int, int]:
    """Return rows and columns of a NumPy file of float32, and leave the file at its first row."""
    try:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError
        (length,) = struct.unpack("<H", file.read(2))
        described = ast.literal_eval(file.read(length).decode("latin-1").strip())
        rows, columns = described["shape"]
        if (described["descr"], described["fortran_order"]) != ("<f4", False):
            raise ValueError
        return int(rows), int(columns)
    except (ValueError, KeyError, TypeError, SyntaxError, struct.error):
        raise _invalid(path, "is not a table of float32 in C order (NumPy format 1.0)") from None


def _fields(message: Any) -> dict[str, Any]:
    fields = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    assert isinstance(fields, dict)
    return fields


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


def _write_line(file: BinaryIO, fields: dict[str, Any]) -> None:
    file.write(json.dumps(fields, ensure_ascii=False).encode() + b"\n")


def _invalid(path: Path, problem: str) -> errors.InvalidArgument:
    return errors.InvalidArgument(f"{path} {problem}", hint="export the collection once more")
