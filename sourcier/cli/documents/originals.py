"""`sourcier documents get`, and the picture of `documents show --page`: files as they came, pages as they look."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from sourcier.cli.failure import Failure
from sourcier.cli.text import counted, json_line, printable, size

if TYPE_CHECKING:
    from sourcier.client import Client


async def get_original(client: Client, document_id: str, *, output: str, version_id: str, as_json: bool) -> None:
    """Write a document's file to a path, whole or not at all; `-` is standard output."""
    if output == "-":
        header = await client.download(document_id, sys.stdout.buffer, version_id=version_id)
        click.echo(printable(header.filename), err=True)
        return
    with whole_file(Path(output)) as file:
        header = await client.download(document_id, file, version_id=version_id)
    if as_json:
        click.echo(json_line(header))
    else:
        click.echo(f"wrote {printable(header.filename)}, {size(header.size_bytes)}, to {printable(output)}")


async def draw_page(
    client: Client, document_id: str, *, page: int, image: str, dpi: int, chunk: int | None, as_json: bool
) -> None:
    """Write a page as a picture, a chunk marked on it."""
    found = await client.page_image(document_id, page, dpi=dpi, chunk_index=chunk)
    header = found.header
    with whole_file(Path(image)) as file:
        file.write(found.png)
    if as_json:
        click.echo(json_line(header))
        return
    click.echo(f"page {header.page} of {header.page_count}, {header.width} × {header.height} pixels, to "
               f"{printable(image)}")
    if chunk is None:
        return
    if not header.marked:
        click.echo(f"chunk {chunk} does not stand on this page, or was not found on it; nothing is marked", err=True)
    elif found.matched_by_text:
        click.echo(
            f"chunk {chunk} was found by its text: no places were kept when the document was read. "
            "Have it read again: sourcier reprocess --from parse", err=True,
        )
    else:
        click.echo(f"marked chunk {chunk}: {counted(header.marked, 'rectangle')}")


async def draw_picture(client: Client, document_id: str, *, picture: int, image: str, as_json: bool) -> None:
    """Write a picture inside a document to a path, as PNG."""
    found = await client.page_image(document_id, picture=picture)
    header = found.header
    with whole_file(Path(image)) as file:
        file.write(found.png)
    if as_json:
        click.echo(json_line(header))
        return
    where = f" on page {header.page}" if header.page else ""
    click.echo(f"picture {picture}{where}, {header.width} × {header.height} pixels, to {printable(image)}")


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the path's place once all of it is written; raise Failure where it cannot be."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}", hint="name a file in a folder that exists",
                      exit_code=2) from error
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        # As a file that the program opened itself would have them.
        mask = os.umask(0)
        os.umask(mask)
        written.chmod(0o666 & ~mask)
        written.replace(path)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}", exit_code=2) from error
    finally:
        written.unlink(missing_ok=True)
