"""`Diagnose` and `GetStatistics`: every fault is told with what follows and what mends it, and hides no other."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sourcier.gateway.v1 import operations_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.chassis.queue.room import MESSAGE_BYTES_MIN, Filling, Room
from sourcier.services.gateway.api import diagnosis
from sourcier.services.gateway.api.diagnosis import of_space
from sourcier.services.gateway.api.surroundings import of_broker, of_certificate, of_clocks, of_releases, of_schema
from sourcier.services.index.documents.soundness import MISSING_COUNTED_MAX, SpaceSoundness
from tests.integration.cli.conftest import environment
from tests.integration.gateway.fix_gateway import TENANT, Gateway, Scenario, gateway

PATIENT: dict[str, Any] = {"timeout": 30, "metadata": TENANT}
OK, WARNING, FAILED = (
    operations_pb2.CHECK_STATE_OK, operations_pb2.CHECK_STATE_WARNING, operations_pb2.CHECK_STATE_FAILED
)


async def diagnosed(served: Gateway) -> dict[str, operations_pb2.Check]:
    response = await served.operations.Diagnose(operations_pb2.DiagnoseRequest(), **PATIENT)
    assert all(bool(check.remedy) == bool(check.consequence) == (check.state != OK) for check in response.checks)
    return {check.name: check for check in response.checks}


async def test_where_all_is_well_every_check_says_so(handbook: Database) -> None:
    async with gateway(handbook, Scenario(language_model="small")) as served:
        checks = await diagnosed(served)
    assert list(checks) == [
        "ingest", "embed", "rerank", "generate", "jobs", "failures", "model", "vectors", "index", "releases", "schema",
        "clock",
    ]
    assert {name for name, check in checks.items() if check.state != OK} <= {"jobs"}


async def test_services_of_another_release_are_told(
    handbook: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gateway(handbook, Scenario(), down=("rerank",)) as served:
        # The services have told theirs by now; the gateway is asked for its own with each diagnosis.
        monkeypatch.setattr(diagnosis, "own_release", lambda: "9.9")
        async with handbook.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("insert into migrations (number, name, checksum) values (9999, 'later', '')")
        checks = await diagnosed(served)
    assert checks["releases"].state == WARNING
    assert checks["releases"].finding == "the gateway is of 9.9; of another release: ingest, generate, embed"
    assert checks["schema"].state == WARNING
    assert "has migration 9999, a later release's" in checks["schema"].finding


def test_releases_and_schemas_that_fit_or_do_not() -> None:
    assert of_releases("1.2", {"ingest": True, "embed": True}).state == OK
    assert of_releases("1.2", {}).state == OK
    found = of_releases("1.2", {"ingest": True, "embed": False})
    assert (found.state, found.finding) == (WARNING, "the gateway is of 1.2; of another release: embed")
    assert [of_schema(last, known=27).state for last in (26, 27, 28)] == [FAILED, OK, WARNING]


async def test_each_service_that_is_away_is_one_fault_and_hides_no_other(handbook: Database) -> None:
    async with gateway(handbook, Scenario(), down=("ingest", "rerank", "generate", "embed")) as served:
        checks = await diagnosed(served)
    assert {name for name, check in checks.items() if check.state == FAILED} == {
        "ingest", "embed", "rerank", "generate", "model"
    }
    assert checks["vectors"].state == OK


async def test_what_is_wrong_in_the_index_is_counted_for_its_tenant_alone(handbook: Database) -> None:
    async with gateway(handbook, Scenario(language_model="small")) as served:
        async with handbook.transaction(tenant=ALL_TENANTS) as connection:
            cursor = await connection.execute("select vectors_table from embedding_spaces")
            [(table,)] = await cursor.fetchall()
        async with handbook.transaction(tenant="acme") as connection:
            await connection.execute(f'delete from "{table}" where ctid in (select ctid from "{table}" limit 1)')
            await connection.execute(
                "update jobs set status = 'processing', updated_at = now() - interval '2 hours', finished_at = null"
            )
        checks = await diagnosed(served)
        other = await served.operations.Diagnose(
            operations_pb2.DiagnoseRequest(), timeout=30, metadata=(("sourcier-tenant", "other"),)
        )
    assert checks["vectors"].finding.startswith("1 chunks of ")
    assert checks["jobs"].state == WARNING
    assert "stand still" in checks["jobs"].finding
    assert {check.state for check in other.checks} == {OK}


def test_a_space_without_its_index_or_of_another_size_is_told() -> None:
    large = SpaceSoundness("space-a", "e5", 384, 2, MISSING_COUNTED_MAX, 500_000, False)
    (model, vectors, index) = of_space(large, [])
    assert (model.state, vectors.state, index.state) == (FAILED, WARNING, WARNING)
    assert vectors.finding.startswith("at least 1000 chunks")
    assert "500,000 vectors and no valid index" in index.finding


async def test_the_broker_tells_how_full_it_is_and_a_broker_that_is_away_is_a_fault(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    async with gateway(handbook, Scenario(), nats_url=nats_url, subject_prefix=subject_prefix) as served:
        found = (await diagnosed(served))["broker"]
    assert (found.state, "full (" in found.finding) == (OK, True), found
    async with gateway(handbook, Scenario(), nats_url="nats://127.0.0.1:1", subject_prefix=subject_prefix) as served:
        lost = (await diagnosed(served))["broker"]
    assert (lost.state, lost.finding) == (FAILED, "NATS has not been reached yet")


@pytest.mark.parametrize(("held", "message_bytes", "state", "finding"), [
    (84, MESSAGE_BYTES_MIN, OK, "answers; work is 84% full (84 of 100 bytes), and nothing is fuller"),
    (85, MESSAGE_BYTES_MIN, WARNING, "work is 85% full (85 of 100 bytes)"),
    (0, MESSAGE_BYTES_MIN - 1, FAILED, "takes messages of 589,823 bytes, and 589,824 are needed"),
])
def test_a_broker_that_will_refuse_is_told_before_it_does(
    held: int, message_bytes: int, state: int, finding: str
) -> None:
    fillings = tuple(Filling(name=name, held_bytes=of, bytes_max=100) for name, of in (("other", 1), ("work", held)))
    check = of_broker(Room(message_bytes_max=message_bytes, fillings=fillings if held else ()))
    assert (check.state, check.finding) == (state, finding)
    assert bool(check.remedy) == (state != OK)


async def test_clocks_that_disagree_are_told(handbook: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await of_clocks(handbook, tenant="acme")).state == OK
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 60)
    check = await of_clocks(handbook, tenant="acme")
    assert (check.state, check.finding.split(" s ")[1]) == (WARNING, "behind the gateway's")


@pytest.mark.parametrize(("days", "state"), [(15, OK), (13, WARNING), (-1, FAILED)])
def test_a_certificate_is_told_before_it_ends(tmp_path: Path, days: int, state: int) -> None:
    now = datetime(2026, 11, 28, tzinfo=UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gateway")])
    certificate = x509.CertificateBuilder(
        issuer_name=name, subject_name=name, public_key=key.public_key(), serial_number=1,
        not_valid_before=now - timedelta(days=60), not_valid_after=now + timedelta(days=days),
    ).sign(key, hashes.SHA256())
    path = tmp_path / "gateway.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    check = of_certificate(path, now=now)
    assert check.state == state
    assert f"{now + timedelta(days=days):%Y-%m-%d}" in check.finding
    path.write_bytes(b"-----BEGIN")
    assert of_certificate(path).state == FAILED


async def test_what_a_tenant_has_is_counted(handbook: Database) -> None:
    letter = ingest_pb2.DeadLetter(
        dead_letter_id="letter-1", state=ingest_pb2.DEAD_LETTER_STATE_OPEN, stage="embed", reason="UNAVAILABLE",
    )
    async with gateway(handbook, Scenario(letters=[letter])) as served:
        counted = await served.operations.GetStatistics(operations_pb2.GetStatisticsRequest(), **PATIENT)
        empty = await served.operations.GetStatistics(
            operations_pb2.GetStatisticsRequest(), timeout=30, metadata=(("sourcier-tenant", "other"),)
        )
    assert (counted.collection_count, counted.document_count, counted.chunk_count) == (1, 2, 3)
    assert counted.mean_document_chunks == 1.5
    assert counted.mean_chunk_tokens > 0
    assert [entry.status for entry in counted.jobs] == ["pending", "processing", "completed", "failed"]
    assert [failure.failure_id for failure in counted.last_failures] == ["letter-1"]
    assert (empty.document_count, empty.chunk_count, empty.mean_document_chunks) == (0, 0, 0)


async def test_the_commands_tell_it_in_lines_and_in_json(handbook: Database) -> None:
    async with gateway(handbook, Scenario(language_model="small"), down=("rerank",)) as served:
        variables = environment(f"127.0.0.1:{served.server.port}") | {"SOURCIER_TENANT": "acme"}
        lines = (await sourcier(variables, "doctor", code=1)).splitlines()
        told = [json.loads(line) for line in (await sourcier(variables, "doctor", "--json", code=1)).splitlines()]
        stats = await sourcier(variables, "stats")
        counted = json.loads(await sourcier(variables, "stats", "--json"))
    [fault] = [line for line in lines if line.startswith("failed")]
    assert fault.split()[1] == "rerank"
    assert fault.endswith("→ sourcier status")
    assert [each["name"] for each in told] == [line.split()[1] for line in lines]
    assert "documents          2" in stats
    assert counted["chunk_count"] in (3, "3")


async def test_a_gateway_that_is_away_is_the_one_check_there_is() -> None:
    variables = environment("127.0.0.1:1")
    [line] = (await sourcier(variables, "doctor", code=1)).splitlines()
    assert line.startswith("failed   gateway")
    assert line.endswith("→ sourcier status; sourcier up --detach")


async def sourcier(variables: Mapping[str, str], *arguments: str, code: int = 0) -> str:
    """Run a command; return what it wrote."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sourcier.cli", *arguments, env=dict(variables), stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode == code, err.decode()
    assert "Traceback" not in err.decode()
    return out.decode()
