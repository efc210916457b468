"""Finds the gateway and runs a command's calls on it."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sourcier.cli.failure import Failure
from sourcier.cli.inputs import check_text
from sourcier.connection import targets
from sourcier.connection.targets import Target
from sourcier.errors import InvalidArgument
from sourcier.installation import data_folder

if TYPE_CHECKING:
    from sourcier.client import Client

T = TypeVar("T")

GATEWAY_VARIABLE = "SOURCIER_GATEWAY_URL"
DATA_DIR_VARIABLE = "SOURCIER_DATA_DIR"
TENANT_VARIABLE = "SOURCIER_TENANT"

@dataclass(frozen=True)
class Connection:
    """Where a command's gateway is, as far as the options tell."""

    gateway: str | None
    data_dir: Path
    tenant: str

    def target(self) -> Target:
        """Return where the gateway is: the option or variable, else the stack that runs on the data folder."""
        return read_target(self.gateway) if self.gateway else Target(_running_gateway(self.data_dir))

    def client(self) -> Client:
        """Return a client of the gateway, to be opened."""
        from sourcier.client import Client

        target = self.target()
        return Client(target.address, tenant=self.tenant, credentials=target.credentials())

    def run(self, use: Callable[[Client], Awaitable[T]]) -> T:
        """Open a client, use it, close it; Ctrl-C cancels the calls in hand."""
        from sourcier.cli.interrupts import run_interruptible

        async def connected() -> T:
            async with self.client() as client:
                return await use(client)

        return run_interruptible(connected())


def connects(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a connection; it gets a `connection` argument."""
    @click.option("--gateway", envvar=GATEWAY_VARIABLE, metavar="HOST:PORT",
                  help=f"The gateway ({GATEWAY_VARIABLE}), with https:// before it where it is reached through TLS; by "
                       "default that of the running stack.")
    @click.option("--data-dir", envvar=DATA_DIR_VARIABLE, type=click.Path(path_type=Path, file_okay=False),
                  default=data_folder(os.environ), show_default=True, help=f"The stack's folder ({DATA_DIR_VARIABLE}).")
    @click.option("--tenant", envvar=TENANT_VARIABLE, default="default", show_default=True,
                  help=f"On whose behalf ({TENANT_VARIABLE}).")
    @functools.wraps(command)
    def wrapped(*arguments: Any, gateway: str | None, data_dir: Path, tenant: str, **options: Any) -> Any:
        check_text(click.get_current_context())
        try:
            targets.checked_tenant(tenant)
        except InvalidArgument as error:
            raise Failure(error.message, exit_code=2) from None
        connection = Connection(gateway=gateway, data_dir=data_dir, tenant=tenant)
        return command(*arguments, connection=connection, **options)

    return wrapped


def read_target(text: str) -> Target:
    """Read HOST:PORT, which may have a scheme before it: `https` and `grpcs` select TLS."""
    try:
        return targets.read_target(text)
    except InvalidArgument as error:
        raise Failure(error.message, hint=error.hint, exit_code=2) from None


def _running_gateway(data_dir: Path) -> str:
    hint = f"sourcier up --detach starts it; or name a gateway with --gateway HOST:PORT or {GATEWAY_VARIABLE}"
    address = running_variable(data_dir, GATEWAY_VARIABLE, hint=hint)
    if not address:
        raise Failure(f"Sourcier is starting in {_absolute(data_dir)}, or runs no gateway",
                      hint="sourcier status tells more")
    return address


def running_variable(data_dir: Path, name: str, *, hint: str) -> str:
    """Return what the stack that runs on a folder tells its clients, from the state that `sourcier up` keeps there;
    empty for what it does not tell."""
    folder = _absolute(data_dir)
    try:
        state = json.loads((folder / "stack.json").read_text("utf-8"))
        pid, value = int(state["pid"]), str(state.get("environment", {}).get(name, ""))
    except FileNotFoundError:
        raise Failure(f"Sourcier is not running in {folder}", hint=hint) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Failure(f"{folder / 'stack.json'} cannot be understood", hint=hint) from None
    if not _alive(pid):
        raise Failure(f"Sourcier is no longer running in {folder}", hint=hint)
    return value


def _absolute(data_dir: Path) -> Path:
    return data_dir.expanduser().absolute()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
