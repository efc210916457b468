"""Other readers of PDF, each in its best documented way: `python -m eval.reading.peers NAME FOLDER OUTPUT`.

Runs in their own environment (`requirements/readers.in`). A reader that is not installed ends with `NOT_INSTALLED`.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from eval.reading import readings, truth
from eval.reading.readings import Reading, Rows, markdown_tables, write_cost

NOT_INSTALLED = 3
NAMES = ("pdf_oxide", "pypdfium2", "docling-parse", "pdfplumber", "unstructured")


def _pdf_oxide(path: Path) -> Reading:
    import pdf_oxide  # type: ignore[import-not-found, unused-ignore]

    document = pdf_oxide.PdfDocument(str(path))
    pages = range(document.page_count())
    text = "\n\n".join(document.to_markdown(page) for page in pages)
    tables = markdown_tables(text)
    for page in pages:
        for table in document.extract_tables(page):
            tables.append([[cell["text"] for cell in row["cells"]] for row in table["rows"]])
    values = [str(field.value) for field in document.get_form_fields()]
    return Reading(path.name, text, tables, values)


def _pypdfium2(path: Path) -> Reading:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    document.init_forms()
    return Reading(path.name, "\n".join(page.get_textpage().get_text_range() for page in document))


def _docling_parse(path: Path) -> Reading:
    from docling_parse.pdf_parser import DoclingPdfParser  # type: ignore[import-not-found, unused-ignore]

    document = DoclingPdfParser(loglevel="fatal").load(str(path))
    lines, values = list[str](), list[str]()
    for _, page in document.iterate_pages():
        lines += [cell.text for cell in page.textline_cells]
        values += [str(widget.widget_text) for widget in page.widgets]
    return Reading(path.name, "\n".join(lines), None, values)


def _pdfplumber(path: Path) -> Reading:
    import pdfplumber  # type: ignore[import-not-found, unused-ignore]

    texts, values, tables = list[str](), list[str](), list[Rows]()
    with pdfplumber.open(path) as document:
        for page in document.pages:
            texts.append(page.extract_text())
            # Without rules it finds none by its defaults; its page tells to look at the text then.
            tables += page.extract_tables() or page.extract_tables(
                {"vertical_strategy": "text", "horizontal_strategy": "text"}
            )
            values += [_told(each["data"].get("V")) for each in page.annots]
    return Reading(path.name, "\n".join(texts), tables, values)


def _told(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value or "")


def _unstructured(path: Path) -> Reading:
    from unstructured.partition.pdf import partition_pdf  # type: ignore[import-not-found, unused-ignore]

    elements = partition_pdf(str(path), strategy="fast", languages=["fra"])
    return Reading(path.name, "\n".join(element.text for element in elements))


READERS: dict[str, Callable[[Path], Reading]] = dict(
    zip(NAMES, (_pdf_oxide, _pypdfium2, _docling_parse, _pdfplumber, _unstructured), strict=True)
)


def read_all(name: str, folder: Path) -> Iterator[Reading]:
    """Yield what a reader makes of the documents of a folder; ImportError where it is not installed."""
    for document in truth.read(folder):
        if document.resolution:
            continue
        try:
            yield READERS[name](folder / document.name)
        except ImportError:
            raise
        except Exception as error:
            yield Reading(document.name, error=f"{type(error).__name__}: {error}"[:200])


def main(name: str, folder: Path, output: Path) -> int:
    """Read the folder's documents; return what the process ends with."""
    warnings.simplefilter("ignore")
    began = time.process_time()
    try:
        readings.write(output, read_all(name, folder))
    except ImportError as error:
        print(f"{name} is not installed and is left out: {error}", file=sys.stderr)
        return NOT_INSTALLED
    write_cost(output, time.process_time() - began)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
