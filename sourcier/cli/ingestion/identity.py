"""Which documents of a collection the files of an ingestion are: known ones keep the source that they have.

Commands before this one named a file of a folder by its path within that folder. Such documents are recognised by
their content, so that an old collection is not doubled: a folder of which one file is there unchanged is the folder
that was brought in then, and its other files are new versions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from sourcier.cli.ingestion.files import Selection, SourceFile, composed
from sourcier.cli.ingestion.renamed import compare, digest
from sourcier.client import Client
from sourcier.errors import NotFound
from sourcier.gateway.v1 import knowledge_pb2

DOCUMENTS_MAX = 50_000
"""Of a collection that are looked through; in a larger one every file is what its path says."""
_PAGE = 1000


@dataclass(frozen=True)
class Identified:
    """The files with the sources that they are sent under."""

    files: list[SourceFile]
    contents: Mapping[str, str]
    """By source, the SHA-256 of what answers now, in hexadecimal."""
    complete: bool
    """Whether the whole collection was looked through."""
    missing: Sequence[knowledge_pb2.Document] = ()
    """Documents of the folders given whose file is gone."""


async def identify(client: Client, selection: Selection, *, collection: str) -> Identified:
    """Return the files with the sources of the documents that they are, and the documents that lost theirs."""
    files = selection.files
    known, complete = await _known(client, collection or "default")
    spelled = {composed(source): source for source in known}
    folders: dict[Path, bool] = {}
    identified = []
    for file in files:
        source = file.source if file.source in known else spelled.get(composed(file.source), "")
        if not source and complete:
            source = _old_source(file, files, spelled, known, folders)
        identified.append(replace(file, source=source or file.source))
    contents = {source: document.content_sha256 for source, document in known.items() if document.version_id}
    distinct = _distinct(identified, files)
    if not complete:
        return Identified(distinct, contents, complete)
    compared = await asyncio.to_thread(compare, distinct, known, folders=selection.folders)
    return Identified(compared.files, contents, complete, compared.missing)


async def _known(client: Client, collection: str) -> tuple[dict[str, knowledge_pb2.Document], bool]:
    """Return a collection's documents by source, and whether these are all."""
    known: dict[str, knowledge_pb2.Document] = {}
    try:
        async with aclosing(client.documents(collection=collection, page_size=_PAGE)) as documents:
            async for document in documents:
                known[document.source] = document
                if len(known) >= DOCUMENTS_MAX:
                    return known, False
    except NotFound:  # `default` is made by its first document
        pass
    return known, True


def _old_source(
    file: SourceFile, files: Sequence[SourceFile], spelled: Mapping[str, str],
    known: Mapping[str, knowledge_pb2.Document], folders: dict[Path, bool],
) -> str:
    """Return the source that a command before this one gave the file, where that document is this file."""
    source = spelled.get(composed(file.short), "") if file.short else ""
    if not source:
        return ""
    root = _root(file)
    if root not in folders:
        siblings = (other for other in files if _root(other) == root and composed(other.short) in spelled)
        folders[root] = any(
            known[spelled[composed(other.short)]].content_sha256 == digest(other.path) for other in siblings
        )
    return source if folders[root] else ""


def _root(file: SourceFile) -> Path:
    """Return the folder that a file was given by."""
    return file.path.parents[file.short.count("/")] if file.short.count("/") < len(file.path.parents) else file.path


def _distinct(identified: Sequence[SourceFile], files: Sequence[SourceFile]) -> list[SourceFile]:
    """Return the files, none under a source that another one has."""
    taken: set[str] = set()
    distinct = []
    for found, file in zip(identified, files, strict=True):
        chosen = file if found.source in taken else found
        taken.add(chosen.source)
        distinct.append(chosen)
    return distinct
