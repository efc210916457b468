"""Which files an ingestion takes, and what it says of those that it does not."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from sourcier.cli import inputs
from sourcier.cli.documents.documents import identified
from sourcier.cli.failure import Failure
from sourcier.cli.ingestion.files import select
from sourcier.cli.ingestion.identity import identify
from sourcier.cli.ingestion.ingest import tell_left_out
from sourcier.cli.ingestion.progress import line
from sourcier.cli.ingestion.sending import Ingestion, Outcome
from sourcier.client import Client
from sourcier.gateway.v1 import knowledge_pb2
from tests.unit.sdk.fake_gateway import FakeGateway


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that one stands in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Silent:
    """Shows nothing."""

    def reached(self, source: str, stage: str) -> None:
        """Say nothing."""

    def ended(self, outcome: Outcome) -> None:
        """Say nothing."""


async def ingested(client: Client, *paths: str) -> dict[str, Outcome]:
    ingestion = Ingestion(client=client, progress=Silent(), document={}, wait=True, uploads_at_once=2,
                          timeout_seconds=30)
    return {outcome.source: outcome for outcome in await ingestion.run(select(paths).files)}


def test_an_empty_path_is_not_the_folder_one_stands_in(here: Path) -> None:
    (here / "a.txt").write_text("a")
    with pytest.raises(Failure, match="a path is empty") as refused:
        select(("",))
    assert refused.value.exit_code == 2


def test_a_pipe_is_refused_with_the_way_out(here: Path) -> None:
    os.mkfifo(here / "pipe")
    with pytest.raises(Failure, match="pipe is neither a file nor a folder") as refused:
        select(("pipe",))
    assert (refused.value.exit_code, "into a file" in refused.value.hint) == (2, True)


async def test_the_client_does_not_wait_for_a_pipe(here: Path, client: Client) -> None:
    os.mkfifo(here / "pipe")
    with pytest.raises(OSError, match="neither a file nor a folder"):
        await client.upload(here / "pipe")


def test_links_to_folders_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("docs", "elsewhere"):
        (here / name).mkdir()
        (here / name / "a.txt").write_text(name)
    (here / "docs" / "lien").symlink_to(here / "elsewhere")
    selection = select(("docs",))
    assert ([file.source for file in selection.files], selection.links) == (["docs/a.txt"], ("docs/lien",))
    tell_left_out(selection)
    assert capsys.readouterr().err == "passed over (links to folders): docs/lien; name them to bring them in\n"
    assert [file.source for file in select(("docs/lien",)).files] == ["docs/lien/a.txt"]
    (here / "docs" / "a.txt").unlink()
    with pytest.raises(Failure, match=r"no file in docs \(1 links to folders passed over\)"):
        select(("docs",))


async def test_a_folder_that_nobody_may_look_into_fails_alone(
    here: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "docs" / "fermé").mkdir(parents=True)
    (here / "docs" / "a.txt").write_text("a")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("fermé"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    outcomes = await ingested(client, "docs")
    assert outcomes["docs/a.txt"].status == "indexed"
    closed = outcomes["docs/fermé/"]
    assert (closed.status, closed.reason, closed.message) == ("failed", "UNREADABLE", "Permission denied")


async def test_a_name_that_is_no_utf8_fails_alone(here: Path, client: Client) -> None:
    (here / os.fsdecode(b"bad\xff name.txt")).write_text("a")
    (here / "ok.txt").write_text("a")
    outcomes = await ingested(client, ".")
    assert outcomes.pop("ok.txt").status == "indexed"
    (bad,) = outcomes.values()
    assert (bad.status, bad.reason, line(bad)) == (
        "failed", "NAME_INVALID",
        r"failed     bad\xff name.txt: its name is not valid UTF-8; rename it [NAME_INVALID]")


def test_a_name_of_two_lines_keeps_to_one() -> None:
    assert line(Outcome("a\nb.txt", "indexed")) == "indexed    a b.txt"


async def test_an_accent_is_the_same_however_it_is_written(client: Client, gateway: FakeGateway) -> None:
    gateway.documents["document-1"].source = "cafe\u0301 noe\u0308l.txt"
    assert await identified(client, "caf\u00e9 no\u00ebl.txt", "") == "document-1"
    gateway.documents["document-2"].source = "caf\u00e9 no\u00ebl.txt"
    assert await identified(client, "caf\u00e9 no\u00ebl.txt", "") == "document-2", "what is typed comes first"


def put(gateway: FakeGateway, source: str, content: str) -> None:
    """Have the gateway hold a document."""
    document_id = f"document-{len(gateway.documents) + 1}"
    gateway.documents[document_id] = knowledge_pb2.Document(
        document_id=document_id, source=source, version_id="1", collection="default",
        content_sha256=hashlib.sha256(content.encode()).hexdigest(),
    )


def write(root: Path, **contents: str) -> None:
    """Write files, their folders' names set apart by `__`."""
    for name, content in contents.items():
        path = root / f"{name.replace('__', '/')}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


async def sources(client: Client, *paths: str) -> list[str]:
    return [file.source for file in (await identify(client, select(paths), collection="")).files]


def test_a_file_is_one_however_it_is_given_and_two_folders_have_two(here: Path) -> None:
    write(here, projA__notes="bleu", projB__notes="rouge")
    ways = ("projA", "projA/", "./projA", str(here / "projA"), "projA/notes.txt", str(here / "projA" / "notes.txt"),
            "projB/../projA/notes.txt", "projA/*.txt")
    assert {file.source for way in ways for file in select((way,)).files} == {"projA/notes.txt"}
    assert [file.source for file in select(("projA", "projB", "projA/notes.txt")).files] == [
        "projA/notes.txt", "projB/notes.txt"]


def test_what_lies_elsewhere_is_named_from_the_root(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, projA__notes="bleu", la__autre="x")
    monkeypatch.chdir(here / "la")
    assert [file.source for file in select(("../projA",)).files] == [(here / "projA" / "notes.txt").as_posix()]


async def test_an_old_collection_keeps_its_documents(here: Path, client: Client, gateway: FakeGateway) -> None:
    gateway.documents.clear()
    write(here, docs__a="un", docs__b="deux, changé", docs__c="nouveau", autre__a="ailleurs")
    put(gateway, "a.txt", "un")
    put(gateway, "b.txt", "deux")
    assert await sources(client, "docs") == ["a.txt", "b.txt", "docs/c.txt"]
    assert await sources(client, "autre") == ["autre/a.txt"], "another folder's file of that name is another document"
    assert await sources(client, "docs", "autre") == ["a.txt", "b.txt", "docs/c.txt", "autre/a.txt"]


async def test_names_as_macos_writes_them_are_the_same(here: Path, client: Client, gateway: FakeGateway) -> None:
    gateway.documents.clear()
    (here / "e\u0301te\u0301.txt").write_text("x")
    assert await sources(client, ".") == ["\u00e9t\u00e9.txt"]
    put(gateway, "e\u0301te\u0301.txt", "avant")
    assert await sources(client, ".") == ["e\u0301te\u0301.txt"], "what an older command stored keeps its name"


async def test_what_replaces_another_is_said(here: Path, client: Client, gateway: FakeGateway) -> None:
    gateway.documents.clear()
    write(here, docs__a="nouveau")
    put(gateway, "docs/a.txt", "ancien")
    identified = await identify(client, select(("docs",)), collection="")
    ingestion = Ingestion(client=client, progress=Silent(), document={}, wait=True, uploads_at_once=2,
                          timeout_seconds=30, contents=identified.contents)
    (outcome,) = await ingestion.run(identified.files)
    assert outcome.status == "replaced"
    assert line(outcome).startswith("replaced   docs/a.txt")


@pytest.mark.parametrize(("text", "valid"), [("été’", True), (os.fsdecode(b"caf\xe9"), False)])
def test_utf8_is_told_from_what_is_not(text: str, valid: bool) -> None:
    assert inputs.is_utf8(text) is valid
