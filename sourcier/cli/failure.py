"""What a person is told when a command fails: one line, and a way out."""

from __future__ import annotations

import os

import click

from sourcier.cli.output import told
from sourcier.cli.text import printable
from sourcier.errors import AnswerInterrupted, SourcierError, Unavailable

_LISTS = {
    "collection": "sourcier collections list shows them; sourcier ingest FOLDER --wait brings documents in",
    "document": "sourcier documents list", "job": "sourcier jobs list",
    "failure": "sourcier failures list", "conversation": "sourcier conversations list",
    "agent": "sourcier agents list", "deployment": "sourcier deployments list",
    "FAQ entry": "sourcier faq list",
}
_OPTIONS = {
    "chunking.method": "--method", "chunking.unit": "--unit", "chunking.target": "--target",
    "chunking.overlap": "--overlap", "chunking.maximum": "--maximum", "retention_days": "--retention-days",
    "tokens_max": "--tokens-max", "answerability_threshold": "--answerability-threshold", "sample_size": "--sample",
}
"""What a field of a request is called on the command line."""
_COMMAND = "`sourcier "
"""A message that names a command has its way out in itself."""


class Failure(click.ClickException):
    """A command cannot do what was asked; `hint` is the way out."""

    def __init__(self, message: str, *, hint: str = "", exit_code: int = 1) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code  # type: ignore[misc]  # click reads it so, and declares it for the class


def root(error: BaseException) -> BaseException:
    """Return the first error of a group of tasks, and any other error as it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def explain(error: Exception) -> tuple[str, str]:
    """Return the line and the way out for an error; a traceback is for SOURCIER_DEBUG=1 alone."""
    if os.environ.get("SOURCIER_DEBUG") == "1":
        raise error
    if isinstance(error, AnswerInterrupted):
        return printable(error.message), f"sourcier resume {error.answer_id} goes on with the answer"
    if isinstance(error, Unavailable) and "cannot reach" in error.message:
        usual = "sourcier status tells what is running, sourcier up starts it; or name another --gateway"
        return error.message, usual if error.hint == error.way_out else error.hint
    if isinstance(error, SourcierError):
        message, hint = error.message, error.hint
        if error.field in _OPTIONS:
            message = message.replace(error.field, _OPTIONS[error.field])
        if error.field == "answer_id" and error.code == "INVALID_ARGUMENT":
            hint = "sourcier ask --json shows the id in each event"
        if _COMMAND not in message and "NOT_FOUND" in {error.code, error.reason}:
            # The field names what is missing, unless it is a name within us; an answer that failed has but its message.
            hint = next((listing for about in (error.field, error.message) for thing, listing in _LISTS.items()
                         if thing in about), hint)
        if error.code in {"INTERNAL", "UNKNOWN"} and error.request_id:
            hint = f"the server's log tells more about request {error.request_id}"
        return printable(message), hint
    if isinstance(error, OSError) and error.strerror:
        return told(error), ""
    return f"{type(error).__name__}: {error}", "SOURCIER_DEBUG=1 shows where; please report it"
