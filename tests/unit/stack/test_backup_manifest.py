"""What a back-up says of itself is believed only where its files are as they were written."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.stack.backups import manifest
from sourcier.services.stack.backups.manifest import Backup

DIGEST = hashlib.sha256(b"postgres.dump").hexdigest()
FILES = ("postgres.dump", "objects-a.tar")


@pytest.mark.parametrize(("spoiled", "said"), [
    ({"format": 2}, "of format 2; this release reads 1"),
    ({"objects": {"../../etc/passwd": 1}, "files": {"postgres.dump": DIGEST, "objects-../../etc/passwd.tar": ""}},
     "lacks its file"),
    ({"files": {"postgres.dump": DIGEST, "objects-a.tar": "", "gone.tar": ""}}, "SHA-256 differs"),
    ({"objects": {"gone": 1}, "files": {"postgres.dump": DIGEST, "objects-gone.tar": ""}}, "lacks its file"),
    ({"taken_at": "yesterday"}, "cannot be read"),
    ({"more": 1}, "cannot be read"),
    ({"files": {}}, "does not name postgres.dump"),
    ({"objects": {"a": 3, "b": 1}}, "does not name objects-b.tar"),
])
def test_what_is_no_whole_backup_is_told(tmp_path: Path, spoiled: dict[str, object], said: str) -> None:
    with pytest.raises(FailedPrecondition, match=r"it has no backup\.json"):
        manifest.read(tmp_path)
    for name in FILES:
        (tmp_path / name).write_bytes(name.encode())
    manifest.write(tmp_path, Backup(
        taken_at="2026-11-28T22:00:00+00:00", schema="sourcier", migration=1, counts={"documents": 2}, objects={"a": 3},
        files={name: manifest.sha256_of(tmp_path / name) for name in FILES},
    ))
    assert manifest.read(tmp_path).told == "2 documents, 3 objects"
    path = tmp_path / "backup.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | spoiled))
    with pytest.raises(FailedPrecondition, match=said):
        manifest.read(tmp_path)


def test_a_file_that_was_changed_is_told(tmp_path: Path) -> None:
    (tmp_path / "postgres.dump").write_bytes(b"dump")
    digest = manifest.sha256_of(tmp_path / "postgres.dump")
    manifest.write(tmp_path, Backup(
        taken_at="2026-11-28T22:00:00+00:00", schema="sourcier", migration=1, counts={}, objects={},
        files={"postgres.dump": digest},
    ))
    assert manifest.read(tmp_path).files == {"postgres.dump": digest}
    (tmp_path / "postgres.dump").write_bytes(b"dumq")
    with pytest.raises(FailedPrecondition, match="SHA-256 differs"):
        manifest.read(tmp_path)
