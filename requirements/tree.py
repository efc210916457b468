"""Write the tree of folders into the architecture page, each with the first sentence of its package's docstring.

    python3 requirements/tree.py [--check]

With `--check` nothing is written: exit code 1 where the page tells another tree than the checkout has.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "developing" / "architecture.md"
BEGIN, END = "<!-- tree: make tree -->", "<!-- end of tree -->"
ROOTS = ("sourcier", "eval", "bench")
STUBS = re.compile(r"sourcier/(embed|events|gateway|generate|ingest|rerank)(/v1)?")
OTHERS = {
    "proto": "The contracts, one folder an area; `sourcier/<area>/v1` holds the stubs generated from them.",
    "tests": "`unit`, `integration`, `e2e` and `chaos`; the first two mirror the rooms.",
    "demo": "The handbook that `make demo` reads, and the questions that it asks.",
    "requirements": "Lock files of the environments, and what makes them.",
    "docs": "Documentation.",
}


def main(arguments: list[str]) -> int:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        print(f"error: {PAGE} lacks the line {BEGIN} or {END}", file=sys.stderr)
        return 1
    fresh = f"{before}{BEGIN}\n```\n{tree()}```\n{END}{after}"
    if fresh == page:
        return 0
    if "--check" in arguments:
        print(f"error: {PAGE.relative_to(ROOT)} tells another tree of folders than there is; run: make tree",
              file=sys.stderr)
        return 1
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


def tree() -> str:
    """Return a line for each package, indented by its depth."""
    folders = [folder for root in ROOTS for folder in packages(ROOT / root)]
    lines = []
    for folder in folders:
        name = folder.relative_to(ROOT)
        lines.append(f"{'  ' * (len(name.parts) - 1)}{name.name}/".ljust(24) + f" {purpose(folder)}")
    others = [f"{name}/".ljust(24) + f" {text}" for name, text in OTHERS.items()]
    return "\n".join([*lines, *others]) + "\n"


def packages(folder: Path) -> list[Path]:
    """Return a package and those in it, the generated stubs left out, in the order of their names."""
    if STUBS.fullmatch(folder.relative_to(ROOT).as_posix()) or not (folder / "__init__.py").exists():
        return []
    inner = sorted(path for path in folder.iterdir() if path.is_dir())
    return [folder, *(found for path in inner for found in packages(path))]


def purpose(folder: Path) -> str:
    """Return the first sentence of a package's docstring; empty where it has none."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return " ".join(re.split(r"(?<=\.)(?:\s|$)", text, maxsplit=1)[0].split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
