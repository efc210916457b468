"""Every error has one status, one disposition and one way through a channel."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import pytest
from google.rpc import code_pb2, error_details_pb2

from sourcier.services.chassis import errors
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.serving import error_status
from sourcier.services.chassis.queue.consuming import (
    DELIVERIES_MAX,
    NAK_DELAY_SECONDS_MAX,
    OUTAGE_SECONDS_MAX,
    UNSETTLED_MAX,
    Disposition,
    disposition,
    retry_delay_seconds,
    unsettled_delay_seconds,
)


def kinds(root: type[ServiceError] = ServiceError) -> Iterator[type[ServiceError]]:
    yield root
    for child in root.__subclasses__():
        yield from kinds(child)


# The stack, which serves nobody, has errors of its own.
KINDS = sorted(
    {kind for kind in kinds() if not kind.__module__.startswith("sourcier.services.stack")},
    key=lambda kind: kind.__name__
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_status_with_its_reason(kind: type[ServiceError]) -> None:
    status = error_status(kind("what happened", field="a.b", limit=512))
    info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    assert status.details[0].Unpack(info)
    assert status.details[1].Unpack(request)
    assert (status.code, status.message) == (kind.code, "what happened")
    assert (info.domain, info.reason, dict(info.metadata)) == ("sourcier", kind.reason, {"limit": "512"})
    assert [(entry.field, entry.description) for entry in request.field_violations] == [("a.b", "what happened")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_says_something_without_being_told_what(kind: type[ServiceError]) -> None:
    status = error_status(kind())
    assert status.message.endswith(".")
    assert len(status.details) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_log_has_nothing_that_a_caller_wrote(kind: type[ServiceError]) -> None:
    """What is wrong with a request quotes it; what is wrong with us is told, or nobody could mend it."""
    told = errors.told_to_logs(kind("“Licenciement de Mme Quenouille.docx” is wrong", field="header.source"))
    about_the_request = kind.code in {
        code_pb2.INVALID_ARGUMENT, code_pb2.NOT_FOUND, code_pb2.ALREADY_EXISTS, code_pb2.FAILED_PRECONDITION
    }
    assert ("Quenouille" in told) is not about_the_request
    if about_the_request:
        assert told == f"{kind.reason} (header.source)"


def test_a_reason_names_one_class() -> None:
    # A reason that two classes shared would come out of a channel as the wrong one of them.
    public = [kind for kind in KINDS if not kind.__name__.startswith("_")]
    assert len({kind.reason for kind in public}) == len(public)


def test_unknown_errors_tell_nothing_of_themselves() -> None:
    status = error_status(KeyError("postgresql://sourcier:secret@host/db"))
    assert (status.code, status.message) == (code_pb2.INTERNAL, ServiceError().message)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deliveries", [1, DELIVERIES_MAX - 1, DELIVERIES_MAX, DELIVERIES_MAX + 5])
@pytest.mark.parametrize("age_seconds", [0.0, OUTAGE_SECONDS_MAX])
def test_every_error_has_a_disposition(kind: type[ServiceError], deliveries: int, age_seconds: float) -> None:
    decided = disposition(kind(), deliveries=deliveries, age_seconds=age_seconds)
    if issubclass(kind, errors.Superseded):
        assert decided is Disposition.ACKNOWLEDGE
    elif kind.retryable and deliveries < DELIVERIES_MAX:
        assert decided is Disposition.RETRY
    elif kind.retryable and issubclass(kind, errors.Unavailable | errors.ResourceExhausted) and age_seconds == 0:
        # An outage is no document's fault.
        assert decided is Disposition.RENEW
    else:
        assert decided is Disposition.DEAD_LETTER


@pytest.mark.parametrize("error", [ValueError("bug"), OSError("disk"), TimeoutError(), asyncio.InvalidStateError()])
def test_unknown_errors_are_retried_until_attempts_are_spent(error: Exception) -> None:
    assert disposition(error, deliveries=1) is Disposition.RETRY
    assert disposition(error, deliveries=DELIVERIES_MAX) is Disposition.DEAD_LETTER


def test_only_what_waiting_can_heal_is_retryable() -> None:
    # Services have kinds of their own, which their tests know.
    ours = {kind for kind in KINDS if kind.__module__ == errors.__name__}
    assert {kind for kind in ours if kind.retryable} == {
        errors.Unavailable, errors.GatewayLost, errors.DeadlineExceeded, errors.ResourceExhausted,
    }


def test_retry_delays_grow_and_never_hold_a_place_for_long() -> None:
    delays = [[retry_delay_seconds(deliveries) for _ in range(50)] for deliveries in (*range(1, 40), 5_000)]
    assert max(map(max, delays)) <= NAK_DELAY_SECONDS_MAX
    assert max(delays[0]) < min(delays[3])
    assert len(set(delays[-1])) > 1, "no jitter: all that failed at once would come back at once"


def test_an_outage_of_what_copies_are_written_to_is_over_before_a_message_is_given_up_for_its_attempts() -> None:
    unsettled = range(DELIVERIES_MAX, DELIVERIES_MAX + UNSETTLED_MAX)
    assert sum(map(unsettled_delay_seconds, unsettled)) >= OUTAGE_SECONDS_MAX
    # A letter of the first attempts, and a message that is never given up.
    assert unsettled_delay_seconds(1) == unsettled_delay_seconds(5_000, deliveries_max=sys.maxsize)
    assert unsettled_delay_seconds(5_000) < OUTAGE_SECONDS_MAX


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.__module__ == errors.__name__])
def test_channels_know_every_reason(kind: type[ServiceError]) -> None:
    assert channels._BY_REASON[kind.reason] is kind
