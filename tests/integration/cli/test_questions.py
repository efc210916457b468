"""`ask` and `search`."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sys
from pathlib import Path

import grpc
import grpc.aio
import pytest

from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc
from tests.integration.cli.conftest import Command, environment
from tests.unit.sdk.fake_gateway import QUOTED, REFUSAL, FakeAnswers, FakeGateway


async def test_an_answer_with_its_sources(cli: Command) -> None:
    done = await cli("ask", "Combien", "de", "jours ?")
    assert done.code == 0
    assert done.out == (
        "Deux jours par semaine [1].\n\nSources\n  [1] Charte du télétravail, page 1 (charte.pdf)  score 0.50\n")
    assert done.err == ""


async def test_options_reach_the_gateway(cli: Command, gateway: FakeGateway) -> None:
    await cli(
        "ask", "Combien ?", "-c", "demo", "--passages", "3", "--no-rerank", "--metadata", "an=2026", "--seed", "7"
    )
    request = gateway.requests[-1]
    assert (request.filter.collection, request.passages, request.rerank, request.seed) == ("demo", 3, False, 7)
    assert dict(request.filter.metadata) == {"an": "2026"}


async def test_a_filter_and_collections_reach_the_gateway(cli: Command, gateway: FakeGateway) -> None:
    as_json = '{"and": [{"field": "date", "gte": 2024}, {"not": {"field": "archived", "eq": true}}]}'
    for written in ("date >= 2024 and not archived", as_json):
        for command in ("ask", "search", "facets"):
            assert (await cli(command, "type", "-f", written)).code == 0
            where = gateway.requests[-1].filter.where
            assert where.all_of[0].at_least.number_value == 2024
            assert where.all_of[1].negated.equals.bool_value
    await cli("search", "Combien ?", "-c", "demo", "-c", "rh")
    assert list(gateway.requests[-1].filter.collections) == ["demo", "rh"]
    await cli("search", "Combien ?", "--all-collections")
    assert gateway.requests[-1].filter.all_collections
    for arguments, message in (
        (("-f", "type = note de service"), "put a text of several words in quotes"), (("-f", "{type"), "is none"),
        (("-f", '{"fild": 1}'), "is not understood"), (("-c", "a", "--all-collections"), "is beside --collection"),
    ):
        done = await cli("search", "Combien ?", *arguments)
        assert (done.code != 0, message in done.err, done.out) == (True, True, ""), done.err


async def test_facets_are_written_for_people_and_for_programs(cli: Command, gateway: FakeGateway) -> None:
    done = await cli("facets", "type", "-n", "2", "-c", "demo", "--metadata", "an=2026")
    assert (done.code, done.out) == (0, "type  4 documents\n  3  avenant\n  1  contrat\n  and 1 other value\n")
    assert "of 4 documents" in done.err
    request = gateway.requests[-1]
    assert (request.limit, request.filter.collection, dict(request.filter.metadata)) == (2, "demo", {"an": "2026"})
    [line] = (await cli("facets", "--json")).out.splitlines()
    assert json.loads(line)["values"][0]["value"] == "avenant"


async def test_a_refusal(cli: Command) -> None:
    done = await cli("ask", "La recette de la tarte ?")
    assert (done.code, done.out) == (3, REFUSAL + "\n")


@pytest.mark.parametrize("form", [(), ("--json",)])
async def test_a_passage_that_is_quoted_is_no_answer(cli: Command, gateway: FakeGateway, form: tuple[str, ...]) -> None:
    gateway.quotes = True
    done = await cli("ask", "Combien ?", *form)
    assert (done.code, QUOTED in done.out, done.err) == (4, True, "")
    assert "4  not answered: the closest passage is quoted instead" in (await cli("ask", "--help")).out


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize("outcome", [answer_pb2.ANSWER_OUTCOME_CANCELLED, answer_pb2.ANSWER_OUTCOME_ABANDONED])
async def test_an_answer_that_was_given_up_is_none(
    cli: Command, gateway: FakeGateway, form: tuple[str, ...], outcome: answer_pb2.AnswerOutcome.ValueType
) -> None:
    gateway.given_up = outcome
    assert (await cli("ask", "Combien ?", *form)).code == 1


async def test_events_as_json(cli: Command) -> None:
    done = await cli("ask", "Combien ?", "--json")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [int(event["sequence"]) for event in events] == list(range(1, len(events) + 1))
    assert events[0]["started"]["language"] == "fr"
    assert events[-1]["finished"]["outcome"] == "ANSWER_OUTCOME_ANSWERED"
    assert done.code == 0


async def test_a_failed_answer(cli: Command, gateway: FakeGateway) -> None:
    gateway.answer_failure = answer_pb2.Failed(reason="UNAVAILABLE", message="the model stopped")
    done = await cli("ask", "Combien ?")
    assert done.code == 1
    assert done.out == "Deux jours\n"
    assert done.err.startswith("error: the model stopped\nhint:  ")


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (("ask", ""), 2, "error: the question is empty"),
    (("ask", "-"), 2, "error: the question is empty"),
    (("ask",), 2, "error: Missing argument 'QUESTION...'"),
    (("ask", "Quoi ?", "-c", "inconnue"), 1, 'error: the collection "inconnue" does not exist\nhint:  sourcier coll'),
    (("ask", "Quoi ?", "--passages", "99"), 2, "error: Invalid value for '--passages'"),
    (("ask", "Quoi ?", "--metadata", "an"), 2,
     "error: 'an' is not KEY=VALUE\nhint:  for example: --metadata service=rh"),
    (("deployments", "create", "web", "--agent", "a", "--set", "mode"), 2,
     "error: 'mode' is not KEY=VALUE\nhint:  for example: --set mode=tools"),
    (("ask", "Quoi ?", "--gateway", "nowhere"), 2, "error: 'nowhere' is not a gateway's address"),
    (("ask", "Quoi ?", "--gateway", "127.0.0.1:1"), 1, "error: cannot reach a gateway at 127.0.0.1:1\nhint:  "),
    (("ask", "Quoi ?", "--gateway", "localhost:70000"), 2, "error: 'localhost:70000' is not a gateway's address"),
    (("resume", "answer-1", "--gateway", "127.0.0.1:1"), 1,
     "error: cannot reach a gateway at 127.0.0.1:1\nhint:  sourcier status tells"),
    (("search", " "), 2, "error: the question is empty"),
    (("search", "Quoi ?", "--mode", "best"), 2, "error: Invalid value for '-m' / '--mode'"),
    (("serch",), 2, "error: No such command 'serch'. Did you mean 'search'?"),
])
async def test_what_goes_wrong_is_one_line(cli: Command, arguments: tuple[str, ...], code: int, message: str) -> None:
    done = await cli(*arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(message), done.err
    assert len(done.err.splitlines()) <= 2


async def test_search_writes_json_lines(cli: Command, gateway: FakeGateway) -> None:
    done = await cli("search", "télétravail", "--limit", "2", "--mode", "lexical", "--json")
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [each["rank"] for each in found] == [1, 2]
    assert set(found[0]) == {
        "rank", "score", "document_id", "title", "source", "collection", "page", "chunk_id", "chunk_index", "text",
        "category", "kind", "chunk_type", "duplicates", "duplicate_documents", "neighbours", "pictures", "places"}
    assert gateway.requests[-1].mode == answer_pb2.SEARCH_MODE_LEXICAL
    assert not gateway.requests[-1].explain
    await cli("search", "télétravail", "--explain")
    assert gateway.requests[-1].explain


async def test_search_says_where_a_document_fell_out(cli: Command, gateway: FakeGateway) -> None:
    done = await cli("search", "télétravail", "--why-not", "feries.md")
    assert gateway.requests[-1].why_not == "feries.md"
    assert done.out.splitlines()[-2:] == [
        "« Jours fériés » est le 3e des candidats.", "   · Demandez plus de passages.",
    ]
    last = (await cli("search", "télétravail", "--why-not", "feries.md", "--json")).out.splitlines()[-1]
    told = json.loads(last)["why_not"]
    assert (told["fate"], told["place"], told["passage"]) == ("behind", 3, None)


async def test_the_gateway_is_found_in_the_stacks_state(cli: Command, address: str, tmp_path: Path) -> None:
    nothing = await cli("search", "quoi", SOURCIER_GATEWAY_URL="", SOURCIER_DATA_DIR=".sourcier")
    assert (nothing.code, nothing.err.splitlines()[0]) == (1, f"error: Sourcier is not running in {tmp_path}/.sourcier")
    assert "sourcier up --detach" in nothing.err
    (tmp_path / ".sourcier").mkdir()
    state = {"pid": 2**22 + 1, "environment": {"SOURCIER_GATEWAY_URL": address}}
    (tmp_path / ".sourcier" / "stack.json").write_text(json.dumps(state))
    gone = await cli("search", "quoi", SOURCIER_GATEWAY_URL="", SOURCIER_DATA_DIR=".sourcier")
    assert "no longer running" in gone.err
    (tmp_path / ".sourcier" / "stack.json").write_text(json.dumps(state | {"pid": 1}))
    found = await cli("search", "quoi", SOURCIER_GATEWAY_URL="", SOURCIER_DATA_DIR=".sourcier")
    assert found.code == 0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes the certificate, is not installed")
async def test_a_gateway_behind_tls(cli: Command, gateway: FakeGateway, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = await asyncio.create_subprocess_exec(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key),
        "-out", str(certificate), stderr=asyncio.subprocess.PIPE,
    )
    _, said = await made.communicate()
    assert made.returncode == 0, said.decode()
    server = grpc.aio.server()
    answer_pb2_grpc.add_AnswerServiceServicer_to_server(FakeAnswers(gateway), server)
    port = server.add_secure_port(
        "localhost:0", grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())])
    )
    await server.start()
    try:
        variables = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(certificate)}
        for scheme in ("https", "grpcs"):
            found = await cli("search", "quoi", "--gateway", f"{scheme}://localhost:{port}", **variables)
            assert (found.code, "charte.pdf" in found.out) == (0, True), found.err
        talked = await cli("chat", "--gateway", f"https://localhost:{port}", "--session-only", stdin="Combien ?\n",
                           **variables)
        assert (talked.code, "Deux jours par semaine" in talked.out) == (0, True), talked.err
        strange = await cli("search", "quoi", "--gateway", f"https://localhost:{port}")
        told = f"error: cannot reach a gateway at https://localhost:{port}"
        assert (strange.code, strange.err.splitlines()[0]) == (1, told)
    finally:
        await server.stop(None)


async def test_ctrl_c_cancels_the_answer(gateway: FakeGateway, address: str, tmp_path: Path) -> None:
    gateway.token_gate.clear()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sourcier.cli", "ask", "Combien ?", cwd=tmp_path, env=environment(address),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        assert await process.stdout.readexactly(len("Deux jours")) == b"Deux jours"
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
        await gateway.ask_cancelled.wait()
    assert (process.returncode, err.decode().strip()) == (130, "")
    assert gateway.cancelled == ["answer-1"]


async def test_an_answer_is_resumed_and_stopped_by_its_id(cli: Command, gateway: FakeGateway) -> None:
    whole = await cli("resume", "answer-1")
    assert (whole.code, whole.out.splitlines()[0]) == (0, "Deux jours par semaine [1].")
    rest = await cli("resume", "answer-1", "--after", "6", "--json")
    assert [int(json.loads(line)["sequence"]) for line in rest.out.splitlines()] == [7, 8, 9]
    missing = await cli("resume", "answer-2")
    assert (missing.code, missing.err.splitlines()[0]) == (1, "error: there is no answer answer-2; ask again")
    assert [(await cli("cancel", "answer-1")).out for _ in range(2)] == ["stopped\n", "it had ended before\n"]


async def test_an_answer_whose_connection_stays_broken_says_how_to_go_on(cli: Command, gateway: FakeGateway) -> None:
    gateway.breaks = [5] + [0] * 100
    done = await cli("ask", "Combien ?")
    assert (done.code, done.out) == (1, "Deux jours\n")
    assert done.err.splitlines()[-1] == "hint:  sourcier resume answer-1 goes on with the answer"


async def test_a_closed_pipe_ends_the_command(address: str, tmp_path: Path) -> None:
    command = f"{sys.executable} -m sourcier.cli ask 'Combien ?' --json | head -c 1; exit ${{PIPESTATUS[0]}}"
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", command, cwd=tmp_path, env=environment(address), stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30):
        out, err = await process.communicate()
    assert (process.returncode, out, err) in [(141, b"{", b""), (0, b"{", b"")]
