"""What can go wrong in a call, as one small hierarchy; no gRPC needed to catch it."""

from __future__ import annotations

from typing import ClassVar


class SourcierError(Exception):
    """A call failed; the base of all errors that the client raises."""

    code: ClassVar[str] = "UNKNOWN"
    """The name of the gRPC status."""
    retryable: ClassVar[bool] = False
    """Whether the same call may succeed later."""
    way_out: ClassVar[str] = "the server's log tells more, under the request id"

    def __init__(
        self, message: str, *, reason: str = "", field: str = "", hint: str = "", request_id: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        """What a person reads."""
        self.reason = reason or self.code
        """The machine-readable reason, for example `DOCUMENT_ENCRYPTED`."""
        self.field = field
        """The request's field at fault; empty where there is none."""
        self.hint = hint or self.way_out
        """What to do about it; may be empty."""
        self.request_id = request_id
        """Names the call in the logs of every service; empty where no call was made."""

    def __str__(self) -> str:
        return self.message


class InvalidArgument(SourcierError):
    """The request is not valid."""

    code = "INVALID_ARGUMENT"
    way_out = ""


class NotFound(SourcierError):
    """What was named does not exist."""

    code = "NOT_FOUND"
    way_out = ""


class AlreadyExists(SourcierError):
    """What was named exists already."""

    code = "ALREADY_EXISTS"
    way_out = ""


class FailedPrecondition(SourcierError):
    """The system is not in a state that allows this."""

    code = "FAILED_PRECONDITION"
    way_out = ""


class Unauthenticated(SourcierError):
    """The call needs credentials, or others than it has."""

    code = "UNAUTHENTICATED"
    way_out = "sign in with `sourcier login`, or give an API key with --token or SOURCIER_TOKEN"


class PermissionDenied(SourcierError):
    """The caller may not do this."""

    code = "PERMISSION_DENIED"
    way_out = "check the tenant and the credentials"


class ResourceExhausted(SourcierError):
    """A limit was reached."""

    code = "RESOURCE_EXHAUSTED"
    retryable = True
    way_out = "try again in a moment"


class DailyLimitReached(ResourceExhausted):
    """What a person or a tenant may use in a day is used up."""

    retryable = False
    way_out = "the day ends at 00:00 UTC: go on then, or ask whoever runs the service for more"


class Unavailable(SourcierError):
    """The gateway, or a service behind it, cannot be reached."""

    code = "UNAVAILABLE"
    retryable = True
    way_out = "try again in a moment; `sourcier status` tells what is running"


class DeadlineExceeded(SourcierError):
    """The time allowed ran out."""

    code = "DEADLINE_EXCEEDED"
    retryable = True
    way_out = "allow more time, or ask for less"


class Cancelled(SourcierError):
    """The other side ended the call."""

    code = "CANCELLED"
    retryable = True
    way_out = "try again"


class Internal(SourcierError):
    """The server met an error of its own."""

    code = "INTERNAL"


class AnswerFailed(SourcierError):
    """An answer began and could not be completed; `reason` says why."""

    code = "ABORTED"
    retryable = True
    way_out = ""

    def __init__(self, message: str, *, reason: str = "", request_id: str = "") -> None:
        passing = reason in {
            "UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "INTERNAL", "INCOMPLETE", "GATEWAY_LOST",
        }
        hint = "ask again in a moment; `sourcier status` tells what is running" if passing else ""
        super().__init__(message, reason=reason, hint=hint, request_id=request_id)


class AnswerInterrupted(Unavailable):
    """The connection broke in the middle of an answer, and reading could not go on; the answer may still be made."""

    def __init__(self, message: str, *, answer_id: str, after_sequence: int, request_id: str = "") -> None:
        hint = f'go on with client.resume("{answer_id}", after_sequence={after_sequence})'
        super().__init__(message, reason="INTERRUPTED", hint=hint, request_id=request_id)
        self.answer_id = answer_id
        self.after_sequence = after_sequence
        """The sequence of the last event that was read."""


class JobFailed(SourcierError):
    """A document could not be indexed; `reason` says why."""

    code = "ABORTED"
    way_out = ""
