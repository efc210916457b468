"""`sourcier mcp`: the Model Context Protocol over standard input and output, for a program on this machine."""

from __future__ import annotations

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import TOKEN_VARIABLE, Connection, connects
from sourcier.cli.handover import hand_over


@click.command()
@connects
def mcp(connection: Connection) -> None:
    """Serve MCP over standard input and output: what a desktop assistant starts for itself.

    Its tools search, ask and read, and change nothing.
    """
    target = connection.target()
    if target.encrypted:
        raise Failure("sourcier mcp reaches a gateway without TLS only", exit_code=2,
                      hint="connect the assistant to https://…/mcp of the web service instead")
    connection.client()  # refuses credentials that everybody on the way could read, as for every other command
    hand_over("sourcier.services.web.mcp", ["--gateway", target.address, "--tenant", connection.tenant],
              variables={TOKEN_VARIABLE: connection.token} if connection.token else {})
