"""Which tests reach a module: what `.ci/newcomer` runs beside the unit tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reaching import files_reaching


def test_a_file_reaches_what_it_imports_and_what_that_imports(tmp_path: Path) -> None:
    sources = {
        "tests/test_direct.py": "from sets import found", "tests/test_through.py": "import bench.texts",
        "tests/deep/test_late.py": "def test():\n    from bench import texts", "tests/test_apart.py": "import json",
        "tests/not_a_test.py": "import sets.found", "bench/__init__.py": "", "sets/__init__.py": "",
        "sets/found.py": "",
        "bench/texts.py": "from sets import found\nimport bench.back", "bench/back.py": "import bench.texts",
        ".venv/tests/test_of_a_library.py": "import sets.found",
    }
    for name, source in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    found = [path.relative_to(tmp_path).as_posix() for path in files_reaching("sets.found", root=tmp_path)]
    assert found == ["tests/deep/test_late.py", "tests/test_direct.py", "tests/test_through.py"]
    with pytest.raises(ValueError, match=r"there is no module sets\.moved"):
        files_reaching("sets.moved", root=tmp_path)
