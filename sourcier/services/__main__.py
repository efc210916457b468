"""`sourcier-service NAME`: become one of the services, as an image or a unit file starts it."""

from __future__ import annotations

import importlib
import runpy
import sys
from typing import NoReturn

from sourcier.installation import missing_package, remedy

SERVICES = {
    "gateway": ("sourcier.services.gateway", "The public API: documents and questions in, cited answers out."),
    "ingest": ("sourcier.services.ingest", "Reads documents, cuts them and writes the index."),
    "embed": ("sourcier.services.embed", "Computes the vectors of texts."),
    "rerank": ("sourcier.services.rerank", "Ranks passages, and judges sentences where a model for it is named."),
    "generate": ("sourcier.services.generate", "Writes answers: vLLM, or an OpenAI-compatible endpoint."),
    "web": ("sourcier.services.web", "The page, and HTTP for programs, before the gateway."),
    "migrate": ("sourcier.services.index.migrations", "Brings the database's schema up to date, and ends."),
    "first-key": ("sourcier.services.gateway.access.first_key", "Keeps SOURCIER_FIRST_KEY as an operator's, and ends."),
}
COMMANDS = {
    "broker-users": ("sourcier.services.broker_users", "Prints what a NATS of your own has to let each service do."),
    "durables": ("sourcier.services.durables", "Prints by what a scaler finds each queue (--json)."),
    "probe": ("sourcier.services.probe", "Asks a service for its health (HOST:PORT), and ends with 0 if it serves."),
}
EXIT_USAGE = 2


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the service that is named until a signal stops it; 2 where none is, or its packages are missing."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] in {"-h", "--help"}:
        sys.stdout.write(usage())
        sys.exit(0)
    if given == ["--version"]:
        from importlib.metadata import version

        sys.stdout.write(f"sourcier-service {version('sourcier')}\n")
        sys.exit(0)
    if not given:
        sys.stderr.write(usage())
        sys.exit(EXIT_USAGE)
    name, *more = given
    if name in COMMANDS and not {"-h", "--help"} & {*more}:
        run_command(name, more)
    if name not in {*SERVICES, *COMMANDS}:
        refuse(f"no service is called {name!r}; there are {', '.join((*SERVICES, *COMMANDS))}")
    if more and more[0] in {"-h", "--help"}:
        sys.stdout.write(usage_of(name))
        sys.exit(0)
    if more:
        refuse(f"{name} takes no arguments: its settings are variables, see sourcier-service {name} --help")
    become(name)


def become(name: str) -> NoReturn:
    """Run the service's module as `python -m` would."""
    module, _ = SERVICES[name]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except ModuleNotFoundError as error:
        extra = "generate" if name == "generate" else "server"
        refuse(f"{missing_package(error)} is not installed beside {sys.executable}; {remedy(extra)} installs what "
               f"{name} needs")
    sys.exit(0)


def run_command(name: str, arguments: list[str]) -> NoReturn:
    """Run a command that is no service, and end with its code."""
    module, _ = COMMANDS[name]
    try:
        command = importlib.import_module(module)
    except ModuleNotFoundError as error:
        refuse(f"{missing_package(error)} is not installed beside {sys.executable}; {remedy('server')} installs it")
    sys.exit(command.main(arguments))


def refuse(message: str) -> NoReturn:
    """End with one line."""
    sys.stderr.write(f"error: {message}\n")
    sys.exit(EXIT_USAGE)


def usage() -> str:
    """Return the help."""
    width = max(map(len, (*SERVICES, *COMMANDS)))
    lines = "\n".join(f"  {name:{width}}  {about}" for name, (_, about) in (SERVICES | COMMANDS).items())
    return (f"Usage: sourcier-service NAME\n\nRun one service until SIGTERM. `sourcier up` runs all of them on this "
            f"machine.\n\n{lines}\n\n  --help, --version\n\nSettings are variables: SOURCIER_<NAME>_… and what "
            "services share, SOURCIER_….\n")


def usage_of(name: str) -> str:
    """Return the help of one service, or of a command."""
    if name in COMMANDS:
        return f"Usage: sourcier-service {name}\n\n{COMMANDS[name][1]}\n"
    return (f"Usage: sourcier-service {name}\n\n{SERVICES[name][1]}\n\nIt takes no arguments. Its settings are the "
            f"variables SOURCIER_{name.upper()}_… and what services share (SOURCIER_POSTGRES_URL, SOURCIER_NATS_URL, "
            "SOURCIER_S3_URL, SOURCIER_MODELS_DIR); docs/running/install.md says which it needs.\n")


if __name__ == "__main__":
    main()
