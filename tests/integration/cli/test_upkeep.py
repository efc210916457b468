"""`failures`, `reconcile`, `reprocess`, and the change of a collection."""

from __future__ import annotations

import json

import pytest

from sourcier.gateway.v1 import operations_pb2
from sourcier.services.chassis import errors
from tests.integration.cli.conftest import Command
from tests.unit.sdk.fake_gateway import FakeGateway


async def test_failures_are_listed_and_shown(cli: Command) -> None:
    listed = (await cli("failures", "list")).out.splitlines()
    assert listed[0] == "ID\tSTAGE\tREASON\tSOURCE\tFAILED"
    assert [line.split("\t")[:4] for line in listed[1:]] == [
        ["failure-8", "embed", "UNAVAILABLE", "notes.txt"], ["failure-1", "parse", "DOCUMENT_ENCRYPTED", "contrat.pdf"],
    ]
    filtered = await cli("failures", "list", "--stage", "parse", "--reason", "DOCUMENT_ENCRYPTED", "--json")
    assert [json.loads(line)["failure_id"] for line in filtered.out.splitlines()] == ["failure-1"]
    shown = (await cli("failures", "show", "failure-1")).out.splitlines()
    assert "error        “contrat.pdf” is protected by a password. [DOCUMENT_ENCRYPTED]" in shown
    assert "request      request-1" in shown
    assert json.loads((await cli("failures", "show", "failure-1", "--json")).out)["attempts"] == 1


async def test_more_failures_than_the_limit_are_told(cli: Command) -> None:
    limited = await cli("failures", "list", "--limit", "1")
    assert len(limited.out.splitlines()) == 2
    assert limited.err == "there are more than 1: --limit shows them\n"


async def test_a_replay_twice_is_once(cli: Command, gateway: FakeGateway) -> None:
    first = await cli("failures", "replay", "failure-8")
    assert (first.code, first.out) == (0, "replayed 1, skipped 0\n")
    again = await cli("failures", "replay", "failure-8", "failure-1")
    assert (again.code, again.out) == (0, "replayed 1, skipped 1\n")
    assert "skipped: closed before" in again.err
    assert (await cli("failures", "list", "--state", "replayed")).out.count("\n") == 3
    assert list(gateway.requests[0].failure_ids) == ["failure-8"]


async def test_all_that_fit_are_replayed(cli: Command, gateway: FakeGateway) -> None:
    done = await cli("failures", "replay", "--all", "--reason", "UNAVAILABLE", "-c", "default")
    assert done.out == "replayed 1, skipped 0\n"
    assert gateway.requests[0].filter == operations_pb2.FailureFilter(reason="UNAVAILABLE", collection="default")
    assert (await cli("failures", "replay", "--all")).out == "replayed 1, skipped 0\n"


async def test_a_discard_of_all_asks_first(cli: Command, gateway: FakeGateway) -> None:
    asked = await cli("failures", "discard", "--all", "--stage", "parse")
    assert (asked.code, gateway.requests) == (130, [])
    assert "Close all open failures (stage parse) without trying again?" in asked.err
    assert (await cli("failures", "discard", "--all", "--stage", "parse", "--yes")).out == "discarded 1 failure\n"
    assert (await cli("failures", "discard", "failure-1")).out == "discarded 0 failures\n"
    assert (await cli("failures", "list", "--state", "discarded")).out.splitlines()[1].startswith("failure-1\t")


@pytest.mark.parametrize(("arguments", "code", "lines"), [
    (("failures", "show", "absent"), 1, ["error: There is no failure absent.", "hint:  sourcier failures list"]),
    (("failures", "replay", "failure-1", "absent"), 1, ["error: There is no failure absent.",
                                                        "hint:  sourcier failures list"]),
    (("failures", "replay"), 2, ["error: neither ids nor --all is given"]),
    (("failures", "discard", "failure-1", "--stage", "parse"), 2, ["error: ids are given, and --all or a filter, too"]),
    (("failures", "list", "-c", "absente"), 1, ['error: the collection "absente" does not exist',
                                                "hint:  sourcier collections list shows them; sourcier ingest FOLDER "
                                                "--wait brings documents in"]),
    (("reprocess",), 2, ["error: Missing option '--from'. Choose from: parse, chunk, embed"]),
    (("reprocess", "--from", "parse", "-c", "absente"), 1, ['error: the collection "absente" does not exist']),
    (("collections", "update", "demo"), 2, ["error: nothing to change is given",
                                            "hint:  sourcier collections update --help"]),
    (("collections", "update", "demo", "--retention-days", "40000"), 2, [
        "error: Invalid value for '--retention-days': 40000 is not in the range 0<=x<=36500."]),
    (("reconcile",), 1, ["error: no bucket is watched for this tenant"]),
])
async def test_what_is_wrong_is_one_line(
    cli: Command, gateway: FakeGateway, arguments: tuple[str, ...], code: int, lines: list[str]
) -> None:
    done = await cli(*arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.splitlines()[:len(lines)] == lines
    assert {each.state for each in gateway.unindexed.values()} == {operations_pb2.FAILURE_STATE_OPEN}


async def test_a_comparison_has_a_line_for_each_rule(cli: Command, gateway: FakeGateway) -> None:
    progress = operations_pb2.ReconcileResponse
    gateway.comparison = [
        progress(bucket="docs", prefix="rh/", listed=1000, missing=1, examples=["rh/a.pdf"]),
        progress(bucket="docs", prefix="rh/", listed=1500, missing=1, changed=1, examples=["rh/b.pdf"]),
        progress(bucket="docs", prefix="rh/", listed=1500, missing=1, changed=1, gone=1, finished=True,
                 examples=["rh/c.pdf"]),
        progress(bucket="lois", listed=3, finished=True),
    ]
    done = await cli("reconcile", "--bucket", "docs", "--dry-run")
    assert done.out.splitlines() == [
        "docs/rh/: 1,500 listed, 1 missing, 1 changed, 1 gone", "  rh/a.pdf", "  rh/b.pdf", "  rh/c.pdf",
        "lois/: 3 listed, 0 missing, 0 changed, 0 gone",
    ]
    assert gateway.requests == [operations_pb2.ReconcileRequest(bucket="docs", dry_run=True)]
    as_json = [json.loads(line) for line in (await cli("reconcile", "--json")).out.splitlines()]
    assert [each.get("finished", False) for each in as_json] == [False, False, True, True]


async def test_watched_buckets_are_listed_and_shown(cli: Command, gateway: FakeGateway) -> None:
    gateway.watched = [
        operations_pb2.BucketSource(
            bucket="docs", prefix="rh/", collection="rh", include=["**/*.pdf"], exclude=["brouillons/**"],
            size_bytes_max=5_000_000, current_count=1204, waiting_count=3, refused_count=2,
            errors=[operations_pb2.BucketObject(key="rh/a.pdf", error="the document is\nencrypted")],
        ),
        operations_pb2.BucketSource(bucket="lois", collection="default", comparing=True),
    ]
    assert (await cli("buckets", "list")).out.splitlines() == [
        "BUCKET\tCOLLECTION\tCURRENT\tWAITING\tREFUSED\tCOMPARED", "docs/rh/\trh\t1,204\t3\t2\tnever",
        "lois/\tdefault\t0\t0\t0\tnow",
    ]
    listed = [json.loads(line) for line in (await cli("buckets", "list", "--json")).out.splitlines()]
    assert [each["bucket"] for each in listed] == ["docs", "lois"]
    assert (await cli("buckets", "show", "s3://docs/rh/")).out.splitlines() == [
        "bucket       docs/rh/", "collection   rh", "takes        **/*.pdf", "leaves       brouillons/**",
        "up to        5.0 MB", "objects      1,204 current, 3 waiting, 2 refused", "compared     never",
        "changed      never", "  rh/a.pdf: the document is encrypted", "  and 1 object more",
    ]
    absent = await cli("buckets", "show", "autre")
    assert (absent.code, absent.err) == (1, "error: no rule watches autre\nhint:  watched are docs/rh/, lois/\n")


async def test_a_bucket_that_is_not_watched(cli: Command, gateway: FakeGateway) -> None:
    gateway.failures = [errors.NotFound("no rule watches the bucket 'x'; the watched ones are docs", field="bucket")]
    done = await cli("reconcile", "--bucket", "x")
    assert (done.code, done.err) == (1, "error: no rule watches the bucket 'x'; the watched ones are docs\n")


async def test_documents_are_indexed_again(cli: Command, gateway: FakeGateway) -> None:
    sent = await cli("reprocess", "--from", "embed")
    assert (sent.code, sent.out) == (0, "3 documents sent through the pipeline again, from embed on\n")
    assert gateway.requests[-1] == operations_pb2.ReprocessRequest(from_stage="embed")


async def test_whoever_waits_is_told_what_failed(cli: Command, gateway: FakeGateway) -> None:
    waited = await cli("reprocess", "--from", "chunk", "-c", "default", "--only-outdated", "--wait")
    assert waited.code == 1, waited.err
    assert waited.out.splitlines() == [
        "3 documents sent through the pipeline again, from chunk on", "2 indexed, 1 failed",
        "  securite.html: the document is protected by a password [DOCUMENT_ENCRYPTED]",
    ]
    assert operations_pb2.ReprocessRequest(from_stage="chunk", collection="default", only_outdated=True) in (
        gateway.requests)


async def test_a_collection_is_changed(cli: Command, gateway: FakeGateway) -> None:
    gateway.outdated = 12
    updated = await cli("collections", "update", "demo", "--method", "page", "--target", "1000", "--overlap", "0")
    assert updated.out.splitlines() == [
        "updated demo: page 1000/0/0 ",
        "12 documents cut otherwise; to cut them again: sourcier reprocess --from chunk --collection demo "
        "--only-outdated",
    ]
    assert gateway.collections["demo"].chunking.HasField("overlap")
    shown = await cli("collections", "show", "demo")
    assert "cut          page 1000/0/0 ; 12 documents otherwise" in shown.out.splitlines()
    absent = await cli("collections", "update", "absente", "--method", "page")
    assert (absent.code, absent.err.splitlines()[0]) == (1, 'error: the collection "absente" does not exist')


async def test_how_long_documents_are_kept_is_set_and_shown(cli: Command, gateway: FakeGateway) -> None:
    created = await cli("collections", "create", "lois", "--method", "page", "--retention-days", "30")
    assert (created.code, created.out) == (0, "created lois: page, kept 30 days\n")
    listed = [line.split("\t") for line in (await cli("collections", "list")).out.splitlines()]
    kept = listed[0].index("KEPT")
    assert {row[0]: row[kept] for row in listed[1:]} == {"default": "for ever", "demo": "for ever", "lois": "30 days"}
    as_json = [json.loads(line) for line in (await cli("collections", "list", "--json")).out.splitlines()]
    assert [each.get("retention_days", 0) for each in as_json] == [0, 0, 30]
    cut = await cli("collections", "update", "lois", "--method", "lines")
    assert cut.out == "updated lois: lines, kept 30 days\n"
    for days, told in (("1", "1 day"), ("0", "for ever")):
        updated = await cli("collections", "update", "lois", "--retention-days", days)
        assert updated.out == f"updated lois: lines, kept {told}\n"
    assert not gateway.requests[-1].HasField("chunking")
