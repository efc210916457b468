"""`ingest`, `documents`, `jobs`, `collections`, `models`."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from sourcier.gateway.v1 import knowledge_pb2
from sourcier.services.chassis import errors
from tests.integration.cli.conftest import REPOSITORY, Command
from tests.unit.sdk.fake_gateway import FakeGateway


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files at its root and below, hidden ones, and one that breaks."""
    root = tmp_path / "docs"
    for name in ("racine.md", "a/un.txt", "a/b/deux.txt", ".secret", ".git/config", "a/broken.pdf"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"contenu de {name}")
    return root


async def test_a_folder_with_all_it_holds(cli: Command, gateway: FakeGateway, folder: Path) -> None:
    (folder / "a/broken.pdf").unlink()
    done = await cli("ingest", "docs", "--wait", "--category", "rh", "--metadata", "an=2026")
    assert done.code == 0, done.err
    assert done.out.startswith("3 indexed, 0 unchanged, 0 failed of 3 files in ")
    assert sorted(header.source for header in gateway.headers) == [
        "docs/a/b/deux.txt", "docs/a/un.txt", "docs/racine.md"]
    assert {(header.category, header.lane, header.metadata["an"]) for header in gateway.headers} == {
        ("rh", "interactive", "2026")}
    assert "passed over (hidden): docs/.git, docs/.secret" in done.err
    assert "indexed    docs/a/un.txt (3 chunks)" in done.err


async def test_what_was_not_read_is_told(cli: Command, gateway: FakeGateway, tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_text("un scan")
    document_id = f"document-{hashlib.sha256(b'un scan').hexdigest()[:8]}"
    gateway.documents[document_id] = knowledge_pb2.Document(document_id=document_id, source="scan.pdf", warnings=[
        knowledge_pb2.ReadingWarning(code="pages_without_text", count=2, places=["2", "3"])
    ])
    done = await cli("ingest", "scan.pdf", "--wait", LC_ALL="fr_FR.UTF-8")
    assert "! 2 pages sans texte (des scans ?) (2, 3)" in done.err
    assert "1 file with warnings" in done.err
    shown = await cli("documents", "show", document_id, LC_ALL="C.UTF-8")
    assert "not read     2 pages without text (scans?) (2, 3)" in shown.out
    as_json = await cli("ingest", "scan.pdf", "--wait", "--json")
    assert json.loads(as_json.out)["warnings"] == [
        {"code": "pages_without_text", "count": 2, "places": ["2", "3"], "detail": ""}
    ]


async def test_what_was_read_is_written_as_markdown(cli: Command) -> None:
    shown = await cli("documents", "show", "0192a0de-0000-7000-8000-000000000000", "--text")
    assert (shown.code, shown.out) == (0, "# Charte\n\nDeux jours\npar semaine.\n")


async def test_a_failed_file_is_named_once_with_its_reason(cli: Command, folder: Path) -> None:
    done = await cli("ingest", "docs", "--wait")
    assert done.code == 1
    told = (done.err + done.out).splitlines()
    assert [line for line in told if "broken.pdf" in line] == [
        "failed     docs/a/broken.pdf: the document is protected by a password [DOCUMENT_ENCRYPTED]"]
    assert done.out.startswith("3 indexed, 0 unchanged, 1 failed of 4 files in ")
    as_json = await cli("ingest", "docs", "--wait", "--json")
    told = (as_json.err + as_json.out).splitlines()
    assert (as_json.code, len([line for line in told if "broken.pdf" in line])) == (1, 1)


async def test_an_empty_file_fails_alone(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "vide.txt").touch()
    (tmp_path / "plein.txt").write_text("texte")
    done = await cli("ingest", "vide.txt", "plein.txt", "--wait", "--json")
    outcomes = {each["source"]: each for each in map(json.loads, done.out.splitlines())}
    assert (outcomes["vide.txt"]["status"], outcomes["plein.txt"]["status"]) == ("failed", "indexed")
    assert outcomes["vide.txt"]["message"] == "vide.txt is empty"
    assert done.code == 1


async def test_patterns_include_the_root(cli: Command, gateway: FakeGateway, folder: Path) -> None:
    done = await cli("ingest", "docs/**/*.txt", "docs/**/*.md")
    assert done.out.startswith("3 accepted")
    assert sorted(header.source for header in gateway.headers) == [
        "docs/a/b/deux.txt", "docs/a/un.txt", "docs/racine.md"]


async def test_the_same_again_is_unchanged(cli: Command, folder: Path) -> None:
    await cli("ingest", "docs/racine.md", "--wait")
    done = await cli("ingest", "docs/racine.md", "--wait")
    assert (done.code, done.out.split(" in ")[0]) == (0, "0 indexed, 1 unchanged, 0 failed of 1 file")


@pytest.mark.parametrize(("file", "code", "told"), [
    ("docs/racine.md", 0, "0 indexed, 1 unchanged, 0 failed of 1 file"),
    ("docs/a/broken.pdf", 1, "0 indexed, 0 unchanged, 1 failed of 1 file"),
])
async def test_an_unchanged_file_whose_job_still_runs_is_waited_for(
    cli: Command, gateway: FakeGateway, folder: Path, file: str, code: int, told: str
) -> None:
    assert (await cli("ingest", file)).out.startswith("1 accepted")
    (job,) = gateway.jobs.values()
    assert job.status == knowledge_pb2.JOB_STATUS_PENDING
    done = await cli("ingest", file, "--wait")
    assert (done.code, done.out.split(" in ")[0]) == (code, told)


async def test_a_renamed_file_is_sent_as_the_document_that_it_was(
    cli: Command, gateway: FakeGateway, tmp_path: Path
) -> None:
    (tmp_path / "ancien.txt").write_text("le bail")
    await cli("ingest", "ancien.txt", "--wait")
    (sent,) = gateway.headers
    gateway.documents["bail"] = knowledge_pb2.Document(
        document_id="bail", source="ancien.txt", content_sha256=hashlib.sha256(b"le bail").hexdigest(), size_bytes=7,
        version_id="v", source_root=sent.source_root,
    )
    (tmp_path / "ancien.txt").rename(tmp_path / "nouveau.txt")
    (tmp_path / "copie.txt").write_text("le bail")
    done = await cli("ingest", "nouveau.txt", "--wait")
    assert gateway.headers[-1].renamed_from == "ancien.txt"
    assert "renamed    nouveau.txt (3 chunks) (was ancien.txt)" in done.err
    assert done.out.startswith("0 indexed, 1 renamed, 0 unchanged, 0 failed of 1 file")


async def test_documents_without_a_file_are_told_and_deleted_on_request(
    cli: Command, gateway: FakeGateway, folder: Path
) -> None:
    (folder / "a/broken.pdf").unlink()
    await cli("ingest", "docs", "--wait")
    (root,) = {header.source_root for header in gateway.headers}
    for source in ("docs/parti.md", "docs/racine.md", "ailleurs/x.md"):
        gateway.documents[source] = knowledge_pb2.Document(document_id=source, source=source, source_root=root)
    done = await cli("ingest", "docs", "--wait")
    assert "1 document has no file any more: docs/parti.md; --remove-missing deletes it" in done.err
    done = await cli("ingest", "docs", "--wait", "--remove-missing")
    assert done.code == 0
    assert "deleted    docs/parti.md (its file is gone)" in done.err
    assert "docs/parti.md" not in gateway.documents
    assert {"docs/racine.md", "ailleurs/x.md"} <= gateway.documents.keys()
    refused = await cli("ingest", "docs/racine.md", "--remove-missing")
    assert (refused.code, refused.err.splitlines()[0]) == (
        2, "error: --remove-missing looks for documents of folders, and no folder is given")


async def test_many_files_take_the_bulk_lane(cli: Command, gateway: FakeGateway, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number:02}.txt").write_text(f"texte {number}")
    done = await cli("ingest", ".", "--wait")
    assert done.out.startswith("40 indexed")
    assert {header.lane for header in gateway.headers} == {"bulk"}


async def test_collections_are_made_on_request(cli: Command, gateway: FakeGateway, folder: Path) -> None:
    refused = await cli("ingest", "docs", "-c", "lois")
    assert (refused.code, gateway.headers) == (1, [])
    assert refused.err.splitlines()[-2:] == [
        'error: there is no collection "lois"', "hint:  add --create, or: sourcier collections create lois"]
    done = await cli("ingest", "docs/racine.md", "-c", "lois", "--create")
    assert done.code == 0
    assert "lois" in gateway.collections


@pytest.mark.parametrize(("arguments", "message"), [
    (("absent.pdf",), "error: there is no absent.pdf"),
    (("*.pdf",), "error: no file matches *.pdf"),
    (("vide",), "error: no file in vide"),
])
async def test_what_cannot_be_ingested(
    cli: Command, gateway: FakeGateway, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "vide").mkdir()
    for name in ("un", "deux"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    done = await cli("ingest", *arguments)
    assert (done.code, done.err.splitlines()[0]) == (2, message)
    assert gateway.requests == []


async def test_a_gateway_that_goes_away_fails_the_rest(cli: Command, gateway: FakeGateway, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("texte")
    gateway.failures = [errors.PermissionDenied("not yours")]
    done = await cli("ingest", ".")
    assert (done.code, done.err.splitlines()[0]) == (1, "error: not yours")


async def test_documents(cli: Command, gateway: FakeGateway) -> None:
    listed = await cli("documents", "list")
    assert listed.out.splitlines()[1].startswith("document-1\tdefault\tcharte.pdf\tCharte du télétravail\t3")
    as_json = [json.loads(line) for line in (await cli("documents", "list", "--json")).out.splitlines()]
    assert as_json[0]["document_id"] == "document-1"
    assert "Charte du télétravail" in (await cli("documents", "show", "charte.pdf")).out
    deleted = await cli("documents", "delete", "charte.pdf", "document-2")
    assert deleted.out == "deleted charte.pdf\ndeleted document-2\n"
    assert set(gateway.documents) == {"document-3"}
    absent = await cli("documents", "delete", "charte.pdf")
    assert (absent.code, absent.err.splitlines()[0]) == (1, "error: no document has the id or the source 'charte.pdf'")
    unknown = "0199aaaa-0000-7000-8000-000000000000"
    assert (await cli("documents", "delete", unknown)).out == f"there was none: {unknown}\n"
    assert "sourcier documents list" in (await cli("documents", "show", unknown)).err


async def test_every_document_is_accounted_for(cli: Command, gateway: FakeGateway) -> None:
    told = await cli("documents", "coverage", "-n", "5", LC_ALL="C.UTF-8")
    assert told.out == """default: 4 documents
       2  answer, and all of them was read
       1  answer, but not all of them was read
       1  were given up, and do not answer

Not read
       1  12 pages without text (scans?)
          charte.pdf

Given up
       1  DOCUMENT_ENCRYPTED
          contrat.pdf: “contrat.pdf” is protected by a password.
"""
    assert gateway.requests[-1].examples == 5
    french = await cli("documents", "coverage", LC_ALL="fr_FR.UTF-8")
    assert "       1  12 pages sans texte (des scans ?)\n" in french.out
    as_json = json.loads((await cli("documents", "coverage", "--json")).out)
    assert (as_json["document_count"], as_json["failures"][0]["reason"]) == ("4", "DOCUMENT_ENCRYPTED")
    absent = await cli("documents", "coverage", "-c", "absente")
    assert (absent.code, absent.err.splitlines()[0]) == (1, 'error: the collection "absente" does not exist')


async def test_documents_show_what_is_known(cli: Command, gateway: FakeGateway) -> None:
    found = gateway.documents["document-1"]
    found.filename, found.size_bytes = "café noël.txt", 47
    assert "file         café noël.txt, 47 B\n" in (await cli("documents", "show", "document-1")).out
    assert (await cli("documents", "delete", "-y", "document-1")).out == "deleted document-1\n"


async def test_a_name_of_two_lines_keeps_to_a_line(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "un\ndeux.broken").write_text("texte")
    done = await cli("ingest", ".", "--wait")
    assert [line.split(":")[:2] for line in done.err.splitlines()] == [
        ["failed     un deux.broken", " the document is protected by a password [DOCUMENT_ENCRYPTED]"]]
    assert len(done.out.splitlines()) == 1


async def test_a_pipe_named_directly_is_refused(cli: Command, gateway: FakeGateway, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = await cli("ingest", "pipe")
    assert (done.code, done.err.splitlines()[0]) == (2, "error: pipe is neither a file nor a folder")
    assert gateway.requests == []


@pytest.mark.parametrize(("message", "field", "listing"), [
    ("There is no agent 'nope'.", "agent", "sourcier agents list"),
    ("There is no deployment 'nope'.", "deployment", "sourcier deployments list"),
    ("There is no FAQ entry 'nope'.", "entry_id", "sourcier faq list"),
    ("There is no failure nope.", "dead_letter_id", "sourcier failures list"),
    ("There is no document 'nope'.", "document_id", "sourcier documents list"),
])
async def test_what_is_not_there_has_a_list(
    cli: Command, gateway: FakeGateway, message: str, field: str, listing: str
) -> None:
    gateway.failures = [errors.NotFound(message, field=field)]
    done = await cli("search", "x")
    assert (done.code, done.err.splitlines()) == (1, [f"error: {message}", f"hint:  {listing}"])


@pytest.mark.parametrize(("error", "lines"), [
    (errors.NotFound("'lois' has no other space; build one first (`sourcier spaces build`).", field="collection"),
     ["error: 'lois' has no other space; build one first (`sourcier spaces build`)."]),
    (errors.InvalidArgument("chunking.target cannot be 10: use 16 to 100,000 tokens.", field="chunking.target"),
     ["error: --target cannot be 10: use 16 to 100,000 tokens."]),
    (errors.InvalidArgument("tokens_max is 99999; use 1 to 32,768", field="tokens_max"),
     ["error: --tokens-max is 99999; use 1 to 32,768"]),
    (errors.InvalidArgument("'x' is not an answer's id; each of its events carries it", field="answer_id"),
     ["error: 'x' is not an answer's id; each of its events carries it",
      "hint:  sourcier ask --json shows the id in each event"]),
])
async def test_an_error_speaks_of_commands_and_options(
    cli: Command, gateway: FakeGateway, error: errors.ServiceError, lines: list[str]
) -> None:
    gateway.failures = [error]
    done = await cli("search", "x")
    assert (done.code, done.err.splitlines()) == (1, lines)


async def test_a_folder_to_import_that_is_not_there_is_wrong_usage(cli: Command, gateway: FakeGateway) -> None:
    done = await cli("import", "absent")
    assert (done.code, done.err.splitlines()) == (
        2, ["error: there is no folder absent", "hint:  sourcier export makes one"])
    assert gateway.requests == []


async def test_an_interrupt_while_modules_are_imported_is_no_traceback(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    done = await cli("search", "x", PYTHONPATH=f"{tmp_path}:{REPOSITORY}")
    assert (done.code, done.out, done.err) == (130, "", "")


async def test_jobs(cli: Command, folder: Path) -> None:
    await cli("ingest", "docs/a", "--wait")
    listed = [json.loads(line) for line in (await cli("jobs", "list", "--json", "--status", "failed")).out.splitlines()]
    assert [job["source"] for job in listed] == ["docs/a/broken.pdf"]
    shown = await cli("jobs", "show", "job-docs/a/un.txt")
    assert "completed, done, 100 %" in shown.out
    watched = await cli("jobs", "watch", "job-docs/a/broken.pdf")
    assert (watched.code, watched.out.splitlines()[-1]) == (
        1, " 30 %  parsed     failed: the document is protected by a password [DOCUMENT_ENCRYPTED]")
    assert (await cli("jobs", "show", "absent")).err.splitlines() == [
        "error: the job absent does not exist", "hint:  sourcier jobs list"]


async def test_collections(cli: Command, gateway: FakeGateway) -> None:
    created = await cli("collections", "create", "lois", "--method", "page", "--target", "1000", "--overlap", "0")
    assert created.out.startswith("created lois: page 1000/0/")
    assert gateway.collections["lois"].chunking.HasField("overlap")
    again = await cli("collections", "create", "lois")
    assert (again.code, again.err.splitlines()[0]) == (1, 'error: the collection "lois" exists already')
    assert (await cli("collections", "create", "lois", "--if-missing")).out == "lois exists already\n"
    assert [line.split("\t")[0] for line in (await cli("collections", "list")).out.splitlines()[1:]] == [
        "default", "demo", "lois"]
    assert (await cli("collections", "delete", "lois")).code == 130
    gateway.failures.append(errors.DeadlineExceeded("the ingest service did not answer in time"))
    cut_off = await cli("collections", "delete", "lois", "--yes", "--timeout", "600")
    assert (cut_off.code, cut_off.err.splitlines()) == (1, [
        "error: the time allowed ran out before all of lois was deleted",
        "hint:  what is deleted stays deleted; the same command goes on with the rest",
    ])
    assert 500 < gateway.metadata[-1]["left"] <= 600
    assert (await cli("collections", "delete", "lois", "--yes")).out == "deleted lois and 2 documents\n"
    assert 3500 < gateway.metadata[-1]["left"] <= 3600


async def test_models_and_stack_are_handed_over(cli: Command) -> None:
    assert "fetch" in (await cli("models", "--help")).out
    nothing = await cli("status")
    assert nothing.code == 3
    assert "nothing runs on" in nothing.out
