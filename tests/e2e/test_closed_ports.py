"""Nobody gets more than a refusal from a port of the stack without showing who they are: every port that there is."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests import strangers
from tests.fix_stack import RunningStack
from tests.walking import paths_below

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(600)]


async def test_each_listening_port_refuses_strangers(scripted_stack: RunningStack) -> None:
    """All that the kernel lists for processes of the stack, so that a port that is added later is asked too."""
    doors = {int(address.rpartition(":")[2]) for address in (scripted_stack.gateway, scripted_stack.page)}
    found = sorted(set(strangers.listening(int(scripted_stack.state["pid"]))))  # type: ignore[call-overload]
    assert {name.split()[0] for name, _, _ in found} >= {"nats-server", "postgres", "weed"}
    elsewhere = [entry for entry in found if not strangers.loopback(entry[1])]
    assert not elsewhere, "these listen on the network"
    told = {port: (name, answers) for name, _, port in found if (answers := await strangers.answers(port))}
    # The gateway and the page are the doors for callers: without accounts they take whoever reaches this machine's
    # loopback. That they are found open also shows that an open port is.
    assert set(told) == doors, told


async def test_no_local_socket_of_the_stack_is_open_to_other_users(scripted_stack: RunningStack) -> None:
    assert not list(strangers.open_sockets(int(scripted_stack.state["pid"])))  # type: ignore[call-overload]


def test_every_file_of_the_data_folder_is_its_owners_alone(scripted_stack: RunningStack) -> None:
    """Secrets, ports, configurations and logs: folders may be passed through, files are not read."""
    files = [path for path in paths_below(scripted_stack.folder) if path.is_file() and not path.is_symlink()]
    assert {"ports.json", "stack.json", "internal-token", "security.toml"} <= {path.name for path in files}
    readable = [str(path) for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert not [path for path in readable if passable(Path(path), scripted_stack.folder)]


def passable(path: Path, top: Path) -> bool:
    """Return whether another user gets as far as a file."""
    between = [parent for parent in path.parents if parent.is_relative_to(top)]
    return all(parent.stat().st_mode & 0o011 for parent in between)
