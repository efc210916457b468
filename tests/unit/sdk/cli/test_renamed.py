"""Files beside the documents of their collection: renamed, copied, missing."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from sourcier.cli.ingestion import renamed
from sourcier.cli.ingestion.files import select
from sourcier.cli.ingestion.renamed import compare, is_gone, source_root
from sourcier.gateway.v1 import knowledge_pb2


def document(source: str, text: str, *, root: str | None = None) -> knowledge_pb2.Document:
    """A document that was sent from here, or from another root."""
    body = text.encode()
    return knowledge_pb2.Document(
        document_id=f"id of {source}", source=source, content_sha256=hashlib.sha256(body).hexdigest(),
        size_bytes=len(body), version_id="v", source_root=source_root(source) if root is None else root,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs/sub").mkdir(parents=True)
    return tmp_path


def known(*documents: knowledge_pb2.Document) -> dict[str, knowledge_pb2.Document]:
    return {each.source: each for each in documents}


def test_a_file_with_the_content_of_one_that_is_gone_is_that_one(here: Path) -> None:
    (here / "docs/sub/bail-2026.md").write_text("Le bail.")
    (here / "docs/autre.md").write_text("Autre chose.")
    selection = select(("docs",))
    compared = compare(selection.files, known(document("docs/bail.md", "Le bail.")), folders=selection.folders)
    assert {file.source: file.renamed_from for file in compared.files} == {
        "docs/autre.md": "", "docs/sub/bail-2026.md": "docs/bail.md"}
    assert compared.missing == []


def test_a_folder_that_was_renamed_takes_its_documents_along(here: Path) -> None:
    (here / "docs").rename(here / "dossier")
    for name in ("a", "b"):
        (here / f"dossier/{name}.md").write_text(name)
    selection = select(("dossier",))
    compared = compare(
        selection.files, known(document("docs/a.md", "a"), document("docs/b.md", "b")), folders=selection.folders
    )
    assert [file.renamed_from for file in compared.files] == ["docs/a.md", "docs/b.md"]


def test_of_two_copies_one_is_the_document_and_the_other_is_told(here: Path) -> None:
    for name in ("un", "deux"):
        (here / f"docs/{name}.md").write_text("Le bail.")
    selection = select(("docs",))
    compared = compare(selection.files, known(document("docs/bail.md", "Le bail.")), folders=selection.folders)
    assert [(file.source, file.renamed_from) for file in compared.files] == [
        ("docs/deux.md", "docs/bail.md"), ("docs/un.md", "")]


@pytest.mark.parametrize(("source", "root"), [
    ("docs/bail.md", "another machine's"),
    ("docs/bail.md", ""),  # sent by another door, or by an earlier release
    ("s3://bucket/bail.md", ""),
])
def test_what_came_from_elsewhere_is_never_taken_for_renamed_nor_missing(here: Path, source: str, root: str) -> None:
    (here / "docs/copie.md").write_text("Le bail.")
    selection = select(("docs",))
    compared = compare(
        selection.files, known(document(source, "Le bail.", root=root)), folders=selection.folders
    )
    (file,) = compared.files
    assert (file.renamed_from, file.copy_of, compared.missing) == ("", source, [])


def test_a_document_whose_file_is_there_keeps_its_name(here: Path) -> None:
    for name in ("bail", "copie"):
        (here / f"docs/{name}.md").write_text("Le bail.")
    selection = select(("docs/copie.md",))
    compared = compare(selection.files, known(document("docs/bail.md", "Le bail.")), folders=selection.folders)
    (file,) = compared.files
    assert (file.renamed_from, file.copy_of) == ("", "docs/bail.md")


def test_a_file_that_changed_under_its_name_is_not_renamed(here: Path) -> None:
    (here / "docs/bail.md").write_text("Le nouveau bail.")
    selection = select(("docs",))
    compared = compare(
        selection.files,
        known(document("docs/bail.md", "Le bail."), document("docs/ancien.md", "Le nouveau bail.")),
        folders=selection.folders,
    )
    (file,) = compared.files
    assert (file.renamed_from, [each.source for each in compared.missing]) == ("", ["docs/ancien.md"])


@pytest.mark.parametrize(("given", "missing"), [
    ("docs", ["docs/sub/b.md", "docs/z.md"]), ("docs/sub", ["docs/sub/b.md"]),
    (".", ["ailleurs.md", "docs/sub/b.md", "docs/z.md", "docs2/c.md"]),
    ("docs/sub/../", ["docs/sub/b.md", "docs/z.md"]),
])
def test_missing_are_documents_of_the_folders_given(here: Path, given: str, missing: list[str]) -> None:
    (here / "docs/sub/la.md").write_text("là")
    selection = select((given,))
    held = known(*(document(name, name) for name in ("docs/z.md", "docs/sub/b.md", "docs2/c.md", "ailleurs.md")),
                 document("/nowhere/x.md", "x"), document("docs/sub/la.md", "là"))
    assert [each.source for each in compare(selection.files, held, folders=selection.folders).missing] == missing


def test_a_folder_elsewhere_misses_its_own(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "a.md").write_text("a")
    selection = select((str(elsewhere),))
    held = known(document(f"{elsewhere}/b.md", "b"), document("docs/z.md", "z"))
    assert [each.source for each in compare(selection.files, held, folders=selection.folders).missing] == [
        f"{elsewhere}/b.md"]


def test_where_nobody_may_look_nothing_is_gone(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: str) -> os.stat_result:
        raise PermissionError(path)

    assert is_gone("docs/absent.md")
    assert is_gone("docs/sub/absent/x.md")
    monkeypatch.setattr(os, "lstat", refused)
    assert not is_gone("docs/absent.md")


def test_roots_tell_machines_and_folders_apart(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = source_root("a.md")
    assert source_root("b/c.md") == first
    assert source_root("/srv/a.md") != first
    elsewhere = source_root("/srv/a.md")
    monkeypatch.chdir(here / "docs")
    assert source_root("a.md") != first
    assert source_root("/srv/a.md") == elsewhere
    monkeypatch.setattr(renamed.socket, "gethostname", lambda: "another")
    assert source_root("/srv/a.md") != elsewhere
