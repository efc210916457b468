"""What errors of psycopg and its pool mean to a caller: which may be over the next time, and which never are."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from sourcier.services.chassis.errors import (
    AlreadyExists,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    PermissionDenied,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)

logger = logging.getLogger(__name__)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the errors of psycopg and its pool as `ServiceError`s."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, PoolClosed, TooManyRequests) as error:
        raise translate(error) from error


def translate(error: Exception) -> ServiceError:
    """Return what an error of psycopg means to a caller; its text stays in the log, it may hold data."""
    for kinds, translation, message in TRANSLATIONS:
        if isinstance(error, kinds):
            return translation(message)
    logger.error("an error of the database that nothing is known about", exc_info=error)
    # Of the server's own making, it may be over the next time; a wrong statement stays wrong.
    return DatabaseFault() if isinstance(error, psycopg.InternalError) else ServiceError()


class DatabaseFault(ServiceError):
    """The database met an error of its own."""

    # Tried again a few times only, as an unknown error is: not for as long as an outage may last.
    retryable = True
    reason = "DATABASE_FAULT"


# The first that fits wins: narrower classes stand above the ones they derive from.
TRANSLATIONS: tuple[tuple[tuple[type[Exception], ...], type[ServiceError], str], ...] = (
    ((TooManyRequests,), ResourceExhausted, "Too many requests wait for the database."),
    ((PoolTimeout, PoolClosed), Unavailable, "No connection to the database became free in time."),
    ((psycopg.errors.QueryCanceled,), DeadlineExceeded, "The database took longer than allowed."),
    (
        (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure),
        Unavailable,
        "Another transaction holds what this one needs.",
    ),
    (
        (
            psycopg.errors.InsufficientResources,
            psycopg.errors.DiskFull,
            psycopg.errors.OutOfMemory,
            psycopg.errors.TooManyConnections,
        ),
        ResourceExhausted,
        "The database is out of a resource.",
    ),
    ((psycopg.errors.InsufficientPrivilege,), PermissionDenied, "The database refuses this to its role or tenant."),
    (
        # Raised by our own trigger alone: see the migration `erasures`.
        (psycopg.errors.ObjectNotInPrerequisiteState,),
        FailedPrecondition,
        "The tenant is being erased: nothing new is taken until that is done.",
    ),
    ((psycopg.errors.UniqueViolation,), AlreadyExists, "The thing named exists already."),
    ((psycopg.errors.ForeignKeyViolation,), FailedPrecondition, "What this belongs to does not exist any more."),
    # An OperationalError to psycopg, as when a key is too long for a row of an index: waiting makes no value shorter.
    ((psycopg.DataError, psycopg.errors.ProgramLimitExceeded), InvalidArgument, "A value cannot be stored."),
    (
        (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn),
        FailedPrecondition,
        "The schema is not migrated.",
    ),
    (
        (
            psycopg.OperationalError,
            psycopg.InterfaceError,
            # None of these is an OperationalError: a primary that was demoted, and sessions that the server ended.
            psycopg.errors.ReadOnlySqlTransaction,
            psycopg.errors.IdleInTransactionSessionTimeout,
            psycopg.errors.TransactionTimeout,
        ),
        Unavailable,
        "The database cannot be reached.",
    ),
)
