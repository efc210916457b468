"""The one hierarchy of errors: what went wrong, whether trying again can help, and what the caller is told.

Handlers only raise. `serving` maps an error to a gRPC status, `jetstream` maps it to an ack, a delayed nak or a dead
letter; both read what is declared here. Errors of other libraries are translated once, at the module that owns the
library, with `raise … from error`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from google.rpc import code_pb2

ERROR_DOMAIN = "sourcier"
MESSAGE_BYTES_MAX = 1_000
"""A status travels in HTTP/2 headers: the message percent-encoded, and twice more in its details. gRPC may refuse more
than 8 KiB of them, and the caller then learns nothing but that."""
METADATA_BYTES_MAX = 200
"""Of each value in `ErrorInfo`."""


def shortened(text: str, *, bytes_max: int = MESSAGE_BYTES_MAX) -> str:
    """Return a text of at most so many bytes of UTF-8: what is too long loses its middle.

    Errors quote what callers sent, of whatever length. A message begins with what is wrong and ends with the way out.
    """
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= bytes_max:
        return text
    kept = bytes_max - len(" … ".encode())
    beginning, end = encoded[: kept * 2 // 3], encoded[len(encoded) - kept // 3 :]
    return f"{beginning.decode('utf-8', 'ignore')} … {end.decode('utf-8', 'ignore')}"


class ServiceError(Exception):
    """An internal error occurred."""

    # google.rpc codes have the numbers of grpc.StatusCode, and do not cost the import of grpc.
    code: ClassVar[int] = code_pb2.INTERNAL
    retryable: ClassVar[bool] = False
    """Whether the same work may succeed later: a nak with a delay, against a dead letter."""
    reason: ClassVar[str] = "INTERNAL"
    """The machine-readable reason in `google.rpc.ErrorInfo` and in dead letters."""

    def __init__(
        self, message: str | None = None, *, field: str | None = None, retry_after_seconds: float | None = None,
        **metadata: object,
    ) -> None:
        """Describe the error; `field` names the request's field at fault, `metadata` travels in `ErrorInfo`.

        `retry_after_seconds`, where it is known, travels in `RetryInfo`.
        """
        self.message = shortened(message if message is not None else (type(self).__doc__ or "").splitlines()[0])
        self.field = field
        self.retry_after_seconds = retry_after_seconds
        self.metadata: Mapping[str, str] = {
            key: shortened(str(value), bytes_max=METADATA_BYTES_MAX) for key, value in metadata.items()
        }
        super().__init__(self.message)


class InvalidArgument(ServiceError):
    """The request is not valid."""

    code = code_pb2.INVALID_ARGUMENT
    reason = "INVALID_ARGUMENT"


class NotFound(ServiceError):
    """The thing named does not exist."""

    code = code_pb2.NOT_FOUND
    reason = "NOT_FOUND"


class AlreadyExists(ServiceError):
    """The thing named exists already."""

    code = code_pb2.ALREADY_EXISTS
    reason = "ALREADY_EXISTS"


class FailedPrecondition(ServiceError):
    """The system is not in a state that allows this."""

    code = code_pb2.FAILED_PRECONDITION
    reason = "FAILED_PRECONDITION"


class SpaceMismatch(FailedPrecondition):
    """The embedding space differs from the one that is served."""

    reason = "SPACE_MISMATCH"


class SettingsChanged(FailedPrecondition):
    """The collection's settings changed since they were read."""

    reason = "SETTINGS_CHANGED"


class ModelInvalid(FailedPrecondition):
    """A model's files do not match its manifest."""

    reason = "MODEL_INVALID"


class Unauthenticated(ServiceError):
    """The call needs credentials."""

    code = code_pb2.UNAUTHENTICATED
    reason = "UNAUTHENTICATED"


class PermissionDenied(ServiceError):
    """The caller may not do this."""

    code = code_pb2.PERMISSION_DENIED
    reason = "PERMISSION_DENIED"


class ResourceExhausted(ServiceError):
    """A limit was reached; try again later."""

    code = code_pb2.RESOURCE_EXHAUSTED
    retryable = True
    reason = "RESOURCE_EXHAUSTED"


class DailyLimitReached(ResourceExhausted):
    """The day's limit was reached; try again tomorrow."""

    retryable = False
    reason = "DAILY_LIMIT"


class TooLarge(InvalidArgument):
    """The input is over a size limit."""

    reason = "TOO_LARGE"


class Unavailable(ServiceError):
    """A part of the system cannot be reached; try again later."""

    code = code_pb2.UNAVAILABLE
    retryable = True
    reason = "UNAVAILABLE"


class GatewayLost(Unavailable):
    """The gateway that made the answer was lost; ask again."""

    reason = "GATEWAY_LOST"


class DeadlineExceeded(ServiceError):
    """The time allowed ran out."""

    code = code_pb2.DEADLINE_EXCEEDED
    retryable = True
    reason = "DEADLINE_EXCEEDED"


class DocumentRejected(InvalidArgument):
    """The document cannot be read."""

    reason = "DOCUMENT_REJECTED"


class DocumentUnsupported(DocumentRejected):
    """The document's format is not supported."""

    reason = "DOCUMENT_UNSUPPORTED"


class DocumentEncrypted(DocumentRejected):
    """The document is protected by a password."""

    reason = "DOCUMENT_ENCRYPTED"


class DocumentMalformed(DocumentRejected):
    """The document is damaged."""

    reason = "DOCUMENT_MALFORMED"


class DocumentEmpty(DocumentRejected):
    """The document holds no text."""

    reason = "DOCUMENT_EMPTY"


class DocumentTooLarge(DocumentRejected):
    """The document is over a size limit."""

    reason = "DOCUMENT_TOO_LARGE"


class DocumentPageAbsent(DocumentRejected):
    """The document has no such page."""

    reason = "DOCUMENT_PAGE_ABSENT"


class DocumentTooCostly(DocumentRejected):
    """Reading the document took more time or memory than allowed."""

    reason = "DOCUMENT_TOO_COSTLY"


class Superseded(ServiceError):
    """A newer version or a deletion took this work's place."""

    code = code_pb2.ABORTED
    reason = "SUPERSEDED"


def told_to_logs(error: BaseException) -> str:
    """Return what a log may say of an error: one about what a caller wrote quotes it, names and titles among it.

    Callers get the text, and failures keep it: where it goes once they are deleted, logs must not have it.
    """
    if isinstance(error, (InvalidArgument, NotFound, AlreadyExists, FailedPrecondition)):
        return f"{error.reason} ({error.field})" if error.field else error.reason
    return str(error) if isinstance(error, ServiceError) else repr(error)
