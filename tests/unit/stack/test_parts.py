"""The stack's pure parts: ports, logs, secrets, settings, what is shown and what is kept."""

from __future__ import annotations

import errno
import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError
from rich.console import Console

from sourcier.services.chassis.errors import AlreadyExists, FailedPrecondition, ResourceExhausted
from sourcier.services.stack import secret, statefile
from sourcier.services.stack.__main__ import run
from sourcier.services.stack.compose import compose
from sourcier.services.stack.language_models import DEFAULT_MODEL, SMALL_MODEL
from sourcier.services.stack.processes import logfile, ports, users
from sourcier.services.stack.processes.supervisor import Patience
from sourcier.services.stack.secret import kept_secret
from sourcier.services.stack.settings import StackSettings
from sourcier.services.stack.status import ComponentStatus, StackStatus, State, from_json, to_json
from sourcier.services.stack.terminal.command import down
from sourcier.services.stack.terminal.display import Display, readable, uptime
from sourcier.services.stack.terminal.foreground import KeptStatus
from tests.waiting import until


class FullDisk(io.StringIO):
    """Where the output of a stack in the background goes when its disk is full."""

    def write(self, text: str) -> int:
        """Fail."""
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SOURCIER_")]:
        monkeypatch.delenv(name)


def stack_status(*components: ComponentStatus) -> StackStatus:
    return StackStatus(pid=1, started=1.5, folder="/data", components=components, environment={"SOURCIER_A": "b"})


def test_back_off_doubles_and_is_bounded() -> None:
    patience = Patience(backoff_first=1, backoff_max=30)
    assert [patience.backoff(failures) for failures in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert patience.backoff(10_000) == 30


def test_free_ports_are_distinct_and_free() -> None:
    found = ports.free_ports(8)
    assert len(set(found)) == 8
    assert all(ports.is_free(port) for port in found)


def test_a_port_is_remembered_unless_it_was_taken_since(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    first = ports.PortBook(path).port("nats")
    assert ports.PortBook(path).port("nats") == first
    with socket.create_server(("127.0.0.1", first)):
        assert ports.PortBook(path).port("nats") != first


@pytest.mark.skipif(sys.platform != "linux", reason="held on Linux alone")
def test_a_port_that_was_chosen_is_left_alone_by_others_until_its_server_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = ports.PortBook(tmp_path / "ports.json")
    chosen, second = book.port("nats"), ports.free_ports(1)[0]
    monkeypatch.setattr(ports, "PORTS", (chosen, second))
    monkeypatch.setattr(ports, "TRIES", 2)
    other = ports.PortBook(tmp_path / "other.json")
    assert other.port("nats") == second
    with pytest.raises(ResourceExhausted, match="No free ports"):
        ports.free_ports(1)
    for _ in range(2):  # as after a failure
        with socket.create_server(("127.0.0.1", chosen)) as server, socket.create_connection(server.getsockname()):
            assert not ports.is_free(chosen)
    del book
    assert ports.free_ports(1) == [chosen]


def test_a_taken_fixed_port_is_refused_with_its_holder(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ResourceExhausted, match=f"Port {port} .*process {os.getpid()}.*SOURCIER_GATEWAY_PORT"):
            ports.PortBook(tmp_path / "ports.json").port("gateway", fixed=port)


def test_a_damaged_port_book_is_started_over(tmp_path: Path) -> None:
    (tmp_path / "ports.json").write_text("[1, 2")
    assert ports.PortBook(tmp_path / "ports.json").port("nats") > 0


def test_secrets_are_kept_and_private(tmp_path: Path) -> None:
    first = kept_secret(tmp_path / "inner" / "password")
    assert first == kept_secret(tmp_path / "inner" / "password")
    assert (tmp_path / "inner" / "password").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path / "inner") == ["password"]


def test_the_tail_of_a_log_holds_the_last_run_only(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("old\n")
    log.open("a").close()
    size = log.stat().st_size
    with log.open("a") as file:
        file.write("one\n\ntwo\nthree\n")
    assert logfile.tail(log, lines=2) == ["two", "three"]
    assert logfile.tail(log, since_byte=size) == ["one", "two", "three"]
    assert logfile.tail(tmp_path / "absent.log") == []


def test_a_log_over_its_bound_is_moved_while_open(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    descriptor = logfile.open_log(log)
    os.write(descriptor, b"x" * 100)
    logfile.bound_log(log, bytes_max=10)
    os.write(descriptor, b"new")
    os.close(descriptor)
    assert log.read_bytes() == b"new"
    assert (tmp_path / "a.log.1").stat().st_size == 100


def test_a_log_that_a_full_disk_lets_nobody_move_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"x" * 100)
    monkeypatch.setattr(logfile.shutil, "copyfile", half_copied)
    logfile.bound_log(log, bytes_max=10)
    assert (log.stat().st_size, os.listdir(tmp_path)) == (100, ["a.log"])


def test_a_log_that_was_moved_is_its_owners_alone(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"x" * 100)
    (tmp_path / "a.log.1").write_bytes(b"of an older release")
    (tmp_path / "a.log.1").chmod(0o644)
    logfile.bound_log(log, bytes_max=10)
    assert (tmp_path / "a.log.1").read_bytes() == b"x" * 100
    assert (tmp_path / "a.log.1").stat().st_mode & 0o077 == 0


def half_copied(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes()[:50])
    no_space(target)


def no_space(path: Path, text: str = "") -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


async def test_the_status_of_a_running_stack_outlives_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, full, write = io.StringIO(), False, secret.write_private

    def written(path: Path, text: str) -> None:
        (no_space if full else write)(path, text)

    monkeypatch.setattr(statefile, "write_private", written)
    kept = KeptStatus(tmp_path, Display(Console(file=output, soft_wrap=True)), again_seconds=0.01)
    kept.write(stack_status())
    full = True
    for name in ("nats", "s3"):
        kept.write(stack_status(ComponentStatus(name=name)))
    assert output.getvalue().count("No space left on device") == 1
    assert statefile.read(tmp_path) == stack_status()
    full = False
    await until(lambda: statefile.read(tmp_path) == stack_status(ComponentStatus(name="s3")), seconds=5)


def test_a_stack_does_not_begin_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statefile, "write_private", no_space)
    with pytest.raises(OSError, match="No space left"):
        KeptStatus(tmp_path, Display(Console(file=io.StringIO()))).write(stack_status())


def test_what_cannot_be_shown_ends_nothing() -> None:
    with Display(Console(file=FullDisk())) as display:
        display.say("stopping")
        display.show(stack_status(ComponentStatus(name="nats")))


def test_status_survives_the_state_file() -> None:
    component = ComponentStatus(name="nats", state=State.READY, pid=7, ports={"nats": 1}, log_lines=("a", "b"))
    assert from_json(to_json(stack_status(component))) == stack_status(component)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"components": [{}]}', '{"components": 3}'])
def test_a_foreign_state_file_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(text)


def test_a_stack_is_ready_when_all_its_parts_are() -> None:
    ready, failed = ComponentStatus(name="a", state=State.READY), ComponentStatus(name="b", state=State.FAILED)
    assert stack_status(ready).ready
    assert not stack_status(ready, failed).ready


def test_one_stack_per_folder(tmp_path: Path) -> None:
    assert not statefile.is_locked(tmp_path)
    with statefile.locked(tmp_path):
        assert statefile.is_locked(tmp_path)
        with pytest.raises(AlreadyExists), statefile.locked(tmp_path):
            pass
    assert not statefile.is_locked(tmp_path)


def test_down_leaves_a_process_alone_that_has_the_number_of_a_stack_that_died(tmp_path: Path) -> None:
    output = io.StringIO()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        statefile.write(tmp_path, replace(stack_status(), pid=stranger.pid, started=time.time() - 60))
        with statefile.locked(tmp_path):
            assert down(StackSettings(data_dir=tmp_path), console=Console(file=output, soft_wrap=True)) == 1
        stranger.communicate(b"\n")
    assert stranger.returncode == 0
    assert "is starting; try again" in output.getvalue()


@pytest.mark.parametrize("kept", [False, True])
def test_down_says_that_a_stack_only_starts(tmp_path: Path, kept: bool) -> None:
    output = io.StringIO()
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    if kept:
        statefile.write(tmp_path, replace(stack_status(), pid=gone.pid, started=time.time()))
    with statefile.locked(tmp_path):
        assert down(StackSettings(data_dir=tmp_path), console=Console(file=output, soft_wrap=True)) == 1
    assert "is starting; try again" in output.getvalue()


@pytest.fixture
def folder_of_another() -> Iterator[Path]:
    """Yield the data folder of a stack that another user runs."""
    folder = Path(tempfile.mkdtemp(prefix="sourcier-test-"))
    statefile.open_folder(folder)
    statefile.write(folder, stack_status())
    with statefile.locked(folder):
        for file in folder.iterdir():
            file.chmod(0)
        if os.geteuid() == 0:  # whom no mode keeps out
            os.seteuid(65534)
        yield folder
        os.seteuid(os.getuid())
    shutil.rmtree(folder)


@pytest.mark.parametrize("command", ["status", "down"])
def test_the_stack_of_another_user_is_told_in_a_line(
    folder_of_another: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["stack", command, "--data-dir", str(folder_of_another)])
    with pytest.raises(SystemExit) as ended:
        run()
    told = capsys.readouterr().err
    assert (ended.value.code, told.count("\n")) == (2, 1)
    assert f"{folder_of_another} belongs to another user" in told
    assert "SOURCIER_DATA_DIR" in told
    with pytest.raises(FailedPrecondition, match="belongs to another user"):
        statefile.read(folder_of_another)


def test_log_lines_of_services_are_shown_as_sentences() -> None:
    assert readable('{"level": "ERROR", "message": "no model"}') == "ERROR no model"
    assert readable("plain [text]") == "plain [text]"
    assert readable('"a string"') == '"a string"'


@pytest.mark.parametrize(("seconds", "text"), [(5.9, "5 s"), (65, "1 min 05 s"), (7500, "2 h 05 min")])
def test_uptime_reads_well(seconds: float, text: str) -> None:
    assert uptime(seconds) == text


def test_plain_lines_appear_once_per_change_with_the_reason() -> None:
    output = io.StringIO()
    failed = ComponentStatus(
        name="embed", state=State.FAILED, message="no [model]; next try in 4 s", log_lines=("last words",),
        way_out="Do it.",
    )
    with Display(Console(file=output, soft_wrap=True)) as display:
        display.show(stack_status(failed))
        display.show(stack_status(failed))
    text = output.getvalue()
    assert text.count("no [model]; next try in 4 s") == 1
    assert "last words" in text
    assert "Do it." in text


def test_a_folder_below_a_private_one_is_not_reachable(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir(mode=0o700)
    assert not users.reachable(tmp_path / "private" / "data")


def test_settings_name_what_is_external(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCIER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SOURCIER_NATS_URL", "nats://user:secret@broker.example:4222")
    monkeypatch.setenv("SOURCIER_GENERATE_URL", "gpu.example:50054")
    composition = compose(StackSettings())
    assert [server.name for server in composition.servers] == ["postgres", "s3"]
    assert [service.name for service in composition.services] == ["ingest", "embed", "rerank", "gateway", "web"]
    assert composition.external == {"nats": "broker.example:4222", "generate": "gpu.example:50054"}
    assert composition.environment()["SOURCIER_GENERATE_URL"] == "gpu.example:50054"


def test_an_external_model_endpoint_needs_no_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    assert StackSettings().loads_model
    monkeypatch.setenv("SOURCIER_GENERATE_OPENAI_URL", "http://models.example/v1")
    assert not StackSettings().loads_model


@pytest.mark.parametrize(("name", "value", "loads"), [
    ("RAG_PROVIDER", "Mistral", False), ("RAG_PROVIDER", "vllm", True), ("MISTRAL_API_URL", "http://x/v1", False),
])
def test_the_old_names_of_an_endpoint_count_too(
    name: str, value: str, loads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert StackSettings().loads_model is loads
    monkeypatch.setenv("SOURCIER_GENERATE_ENGINE", "vllm")
    assert StackSettings().loads_model


def test_a_bad_port_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCIER_GATEWAY_PORT", "70000")
    with pytest.raises(ValidationError):
        StackSettings()


def test_each_further_embedding_model_has_a_service_of_its_own(tmp_path: Path) -> None:
    composition = compose(StackSettings(data_dir=tmp_path, embed_model="e5", embed_models="e5@int8, large,e5"))
    embeds = [service for service in composition.services if service.settings.service == "embed"]
    assert [service.name for service in embeds] == ["embed", "embed-2", "embed-3"]
    assert [service.settings.variables.get("SOURCIER_EMBED_MODEL") for service in embeds] == [None, "e5@int8", "large"]
    assert {service.settings.arguments for service in embeds} == {("-m", "sourcier.services.embed")}
    assert len({service.settings.port for service in embeds}) == 3


def test_ingest_services_beside_the_first_take_from_the_queues_and_are_not_called(tmp_path: Path) -> None:
    composition = compose(StackSettings(data_dir=tmp_path, stack_ingest_processes=3))
    ingests = [service for service in composition.services if service.settings.service == "ingest"]
    assert [service.name for service in ingests] == ["ingest", "ingest-2", "ingest-3"]
    first, *others = (service.command().environment for service in ingests)
    assert "SOURCIER_INGEST_STAGES" not in first
    assert {each["SOURCIER_INGEST_STAGES"] for each in others} == {"parse,chunk,index"}
    assert {each["SOURCIER_INGEST_URL"] for each in (first, *others)} == {f"127.0.0.1:{ingests[0].settings.port}"}
    assert len({each["SOURCIER_INGEST_LISTEN"] for each in (first, *others)}) == 3


def test_ingest_services_are_left_out_together(tmp_path: Path) -> None:
    composition = compose(StackSettings(data_dir=tmp_path, stack_ingest_processes=2, stack_services="gateway"))
    assert [service.name for service in composition.services] == ["gateway"]
    composition = compose(StackSettings(data_dir=tmp_path, stack_ingest_processes=2, ingest_url="elsewhere:1"))
    assert not [service for service in composition.services if service.settings.service == "ingest"]


def test_embed_services_elsewhere_are_named_together(tmp_path: Path) -> None:
    composition = compose(StackSettings(data_dir=tmp_path, embed_models="large", embed_url="one:1,two:2"))
    assert not [service for service in composition.services if service.settings.service == "embed"]
    assert composition.external["embed"] == "one:1, two:2"


def test_the_secret_of_prompts_is_made_up_once_and_gives_way_to_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCIER_DATA_DIR", str(tmp_path))
    first, again = (compose(StackSettings()).environment()["SOURCIER_GATEWAY_PROMPT_SECRET"] for _ in range(2))
    assert first == again
    assert len(first) >= 32
    monkeypatch.setenv("SOURCIER_GATEWAY_PROMPT_SECRET", "mine")
    assert compose(StackSettings()).environment()["SOURCIER_GATEWAY_PROMPT_SECRET"] == "mine"


@pytest.mark.parametrize(("given", "characters"), [
    ({}, "2200"), ({"generate_openai_url": "http://127.0.0.1:1/v1"}, "0"), ({"gateway_sources_characters_max": 0}, "0"),
    ({"generate_openai_url": "http://127.0.0.1:1/v1", "gateway_sources_characters_max": 900}, "900"),
])
def test_a_model_on_this_processor_reads_parts_of_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], characters: str
) -> None:
    monkeypatch.setattr("sourcier.services.stack.settings.DEVICE", tmp_path / "no-gpu")
    environment = compose(StackSettings(data_dir=tmp_path, **given)).environment()
    assert environment["SOURCIER_GATEWAY_SOURCES_CHARACTERS_MAX"] == characters


def test_a_model_on_a_gpu_reads_whole_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sourcier.services.stack.settings.DEVICE", tmp_path)
    environment = compose(StackSettings(data_dir=tmp_path)).environment()
    assert environment["SOURCIER_GATEWAY_SOURCES_CHARACTERS_MAX"] == "0"


def test_a_service_that_starts_again_has_the_model_that_the_stack_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    available = iter([32 * 1024**3, 1024**3])
    monkeypatch.setattr(
        "sourcier.services.stack.language_models.psutil.virtual_memory",
        lambda: SimpleNamespace(available=next(available))
    )
    for name in ("a", "b"):
        statefile.open_folder(tmp_path / name)
    first, second = (
        compose(StackSettings(data_dir=tmp_path / name, models_dir=tmp_path / "models")) for name in ("a", "b")
    )
    # Under load, when the engine died, there is less memory than there was.
    assert [first.environment()["SOURCIER_GENERATE_MODEL"] for _ in range(2)] == [DEFAULT_MODEL] * 2
    assert second.environment()["SOURCIER_GENERATE_MODEL"] == SMALL_MODEL
