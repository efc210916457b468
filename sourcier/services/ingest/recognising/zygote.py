"""The process of OCR, the like of the parsers': it forks a child for a few pages at a time, or for a whole document.

A child loads the models, which takes a third of a second, and writes the result of each page as soon as it is there: a
page that ends its process costs that page alone. Once all pages are read, a child reads the document with them.
"""

from __future__ import annotations

import base64
import ctypes
import gc
import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.ingest.parsing import zygote
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import PARTS, PICTURES, THREADS, write_part

_log = logging.getLogger(__name__)

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_BYTES_MAX = 2**31 - 1


def work(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    """Read pages, or take the pictures out of some; else read the document with what was read before."""
    if source.get(PARTS):
        _recognise(directory, source, limits)
    elif source.get(PICTURES):
        _take_out(directory, source, limits)
    else:
        zygote.parse_with_parts(directory, source, limits)


def warm() -> None:
    """Import what children need; a loaded model has threads, which no fork keeps."""
    from sourcier.services.ingest.parsing import dispatch  # noqa: F401
    from sourcier.services.ingest.recognising import drawing, recogniser  # noqa: F401


def _recognise(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    from sourcier.services.ingest.recognising.drawing import drawn_pages
    from sourcier.services.ingest.recognising.recogniser import Recogniser

    _keep_memory()
    recogniser = Recogniser(threads=source[THREADS])
    with drawn_pages(_opened(source, limits)) as draw:
        for number in source[PARTS]:
            write_part(directory, number, _read_page(recogniser, draw, number))


def _keep_memory() -> None:
    """Have glibc keep what is freed, which this process will ask for again; it ends after a few pages.

    The models' tensors are mapped and given back for each batch of lines otherwise: a fifth of a page's time went into
    364,000 page faults.
    """
    with suppress(AttributeError, OSError):  # another C library has no such call, and needs none
        change = ctypes.CDLL(None).mallopt
        change(_M_MMAP_MAX, 0)
        change(_M_TRIM_THRESHOLD, _BYTES_MAX)


def _take_out(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    """Write the pictures of parts as JPEG files in base64, by what tells them from others."""
    from sourcier.services.ingest.recognising.drawing import drawn_pages

    files: dict[str, str] = {}
    with drawn_pages(_opened(source, limits)) as draw:
        for number in source[PICTURES]:
            try:
                files |= _pictures(draw(number))
            except MemoryError:
                gc.collect()
            except Exception:  # as for a page that is read: it costs this part alone
                _log.exception("the pictures of part %d were not taken out", number)
    (directory / zygote.ARTEFACT).write_text(json.dumps(files))


def _pictures(page: Any) -> dict[str, str]:
    from sourcier.services.ingest.recognising.picture_files import as_jpeg

    return {part.fingerprint: base64.b64encode(as_jpeg(page, part.box)).decode() for part in page.parts}


def _opened(source: dict[str, Any], limits: ParsingLimits) -> Any:
    from sourcier.services.ingest.parsing.source import Source

    return Source(Path(source["path"]), source["filename"], source["content_type"], limits=limits)


def _read_page(recogniser: Any, draw: Any, number: int) -> bytes:
    """Return the result of a page; one that cannot be read is one, too, and costs no other."""
    from sourcier.services.ingest.parsing.scans.recognised import RecognisedPage

    try:
        found: RecognisedPage = recogniser.recognise(draw(number), number)
    except MemoryError:
        gc.collect()
        found = RecognisedPage(number, error="it takes more memory than is allowed")
    except ServiceError as error:
        found = RecognisedPage(number, error=error.message)
    except Exception:  # whatever a library raises for a page ends here
        _log.exception("page %d was not read", number)
        found = RecognisedPage(number, error="its picture is damaged")
    return found.to_bytes()


if __name__ == "__main__":
    zygote.main(work, warm)
