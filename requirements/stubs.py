"""Generate the protobuf, gRPC and typing stubs of `proto/` into `sourcier/`.

    .venv/proto/bin/python requirements/stubs.py [--check]

`--check` generates into a temporary folder and fails when the stubs that are checked in differ.
"""

from __future__ import annotations

import filecmp
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def generate(target: Path) -> list[Path]:
    """Write the stubs of every proto file below `target`; return their paths relative to it."""
    protos = sorted((ROOT / "proto").rglob("*.proto"))
    scripts = Path(sys.executable).parent
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={ROOT / 'proto'}",
         f"--plugin=protoc-gen-mypy={scripts / 'protoc-gen-mypy'}",
         f"--plugin=protoc-gen-mypy_grpc={scripts / 'protoc-gen-mypy_grpc'}",
         f"--python_out={target}", f"--grpc_python_out={target}", f"--mypy_out={target}",
         f"--mypy_grpc_out=only_async:{target}", *map(str, protos)],
        check=True,
    )
    for proto in protos:
        folder = target / proto.relative_to(ROOT / "proto").parent
        for package in (folder, folder.parent):
            (package / "__init__.py").touch()
    return sorted(path.relative_to(target) for path in target.rglob("*") if path.suffix in {".py", ".pyi"})


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    if not arguments:
        generate(ROOT)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        stubs = generate(Path(folder))
        stale = [path for path in stubs
                 if not (ROOT / path).exists() or not filecmp.cmp(ROOT / path, Path(folder) / path, shallow=False)]
    for path in stale:
        print(f"stale: {path}; run make proto", file=sys.stderr)
    print(f"{len(stubs)} generated files compared, {len(stale)} stale")
    return 1 if stale or not stubs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
