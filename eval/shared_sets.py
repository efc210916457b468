"""Test sets and documents that others made: where each one is in `../shared/data`, and what to say when it is absent.

The project holds no copy of them. `python -m eval.shared_sets [NAME…]` lists them, or fails where one is absent. This
module needs the standard library alone: the Makefile asks it before anything is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1].parent / "shared" / "data"
SHOWN = Path("..") / "shared" / "data"
"""The same folder, as people in the checkout type it."""
RETRIEVAL, DOCUMENTS = "retrieval", "documents"
PIAF, SHEETS, NOTIFICATIONS = "retrieval/piaf-shared", "documents/service-public-fiches", "s3events"
ORIGINS = {
    PIAF: "questions on French Wikipedia, half of PIAF (MIT),"
          " https://www.data.gouv.fr/fr/datasets/piaf-le-dataset-francophone-de-questions-reponses/",
    "retrieval/crpa-tiny": "38 French questions on open data and their answers (MIT)",
    "retrieval/cranfield": "abstracts on aerodynamics, http://ir.dcs.gla.ac.uk/resources/test_collections/cran/",
    "retrieval/cisi": "abstracts on libraries, http://ir.dcs.gla.ac.uk/resources/test_collections/cisi/",
    "retrieval/xquad-de": "questions in German (CC BY-SA 4.0), https://github.com/google-deepmind/xquad",
    "retrieval/xquad-es": "questions in Spanish (CC BY-SA 4.0), https://github.com/google-deepmind/xquad",
    SHEETS: "administrative sheets as text files (Licence ouverte), https://www.service-public.fr",
    DOCUMENTS: "real files of every format, such as the test files of https://github.com/docling-project/docling,"
               " https://github.com/Unstructured-IO/unstructured, https://github.com/microsoft/markitdown and"
               " https://github.com/py-pdf/sample-files",
    NOTIFICATIONS: "bucket notifications as their senders document them, https://github.com/aws/aws-lambda-go and"
                   " https://github.com/aws-powertools/powertools-lambda-python",
}
"""What each one is and where it comes from, by its path in `ROOT`."""
FORM = "a retrieval set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv, whoever made it"


def find(name: str, *, root: Path | None = None) -> Path | None:
    """Return the folder of this name, for example `retrieval/piaf-shared`; None where it is absent or empty."""
    folder = (root or ROOT) / name
    return folder if folder.is_dir() and any(folder.iterdir()) else None


def absent(*names: str, root: Path | None = None) -> str:
    """Return one sentence: which of these are missing and where to get them."""
    place = SHOWN if root is None else root
    if len(names) > 1:
        return (f"{place} does not hold {', '.join(names)}: others made them, and the project has no copy; "
                "`python -m eval.shared_sets` shows what each one is and where it comes from")
    described = "".join(f"{name} ({ORIGINS[name]})" if name in ORIGINS else name for name in names)
    form = f"; {FORM}" if described.startswith(f"{RETRIEVAL}/") else ""
    return f"{place} does not hold {described}: others made it, and the project has no copy{form}"


def absent_folder(path: Path) -> str:
    """Return the sentence for a folder that was named by its path and is not there."""
    named = next((name for name in ORIGINS if path.parts[-name.count("/") - 1:] == tuple(name.split("/"))), "")
    if named:
        return absent(named, root=path.parents[named.count("/")])
    return f"{path} is no folder; {FORM}"


def main(names: Sequence[str]) -> int:
    """Say of every set whether it is here; of named ones, only which are absent, and return 1 then."""
    if not names:
        for name, origin in ORIGINS.items():
            print(f"{'here  ' if find(name) else 'absent'}  {name}: {origin}")
        return 0
    missing = [name for name in names if find(name) is None]
    if missing:
        print(f"error: {absent(*missing)}; make eval DATA=folder names another one", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
