"""What PostgreSQL's errors mean to a person.  The driver's own texts may quote a URL; ours do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from psycopg import DataError, InterfaceError, OperationalError, errors
from psycopg_pool import PoolClosed, PoolTimeout

from stenolith.errors import InvalidInput, StoreUnavailable

_REFUSED: Final = (
    ("password authentication failed", "it refused the user name or the password"),
    ("no password supplied", "it wants a password"),
    ("pg_hba.conf", "it does not let this user in from here"),
    ("does not exist", "the database or the role does not exist"),
    ("too many clients", "all its connections are in use"),
    ("remaining connection slots", "all its connections are in use"),
    ("too many connections", "all its connections are in use"),
    ("starting up", "it is starting up"),
    ("shutting down", "it is shutting down"),
    ("timeout", "it does not answer"),
    ("timed out", "it does not answer"),
    ("resolve host", "its host name is unknown"),
    ("translate host", "its host name is unknown"),
    ("name or service", "its host name is unknown"),
    ("refused", "nothing answers at its address"),
    ("no such file", "nothing answers at its address"),
    ("ssl", "the two do not agree on encryption"),
)
"""Words of libpq and of the server, and what we say instead."""


def explain_refusal(error: BaseException) -> str:
    """Return why a connection could not be made, without the driver's words."""
    said = str(error).casefold()
    return next((ours for theirs, ours in _REFUSED if theirs in said), "no connection can be made")


@contextmanager
def in_plain_words() -> Iterator[None]:
    """Turn what the server or the way to it does wrong into `StoreUnavailable` and `InvalidInput`."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable("PostgreSQL is away, or all connections stayed in use") from error
    except PoolClosed as error:
        raise StoreUnavailable("this memory was closed") from error
    except (errors.DeadlockDetected, errors.SerializationFailure, errors.LockNotAvailable) as error:
        raise StoreUnavailable("another process kept these rows locked; nothing was written, try again") from error
    except errors.DiskFull as error:
        raise StoreUnavailable("the disk of the PostgreSQL server is full; nothing was written") from error
    except errors.ReadOnlySqlTransaction as error:
        raise StoreUnavailable("this PostgreSQL server is read-only; nothing was written") from error
    except errors.InsufficientPrivilege as error:
        raise StoreUnavailable("the PostgreSQL role may not use these tables") from error
    except (errors.ProgramLimitExceeded, DataError) as error:
        raise InvalidInput("PostgreSQL cannot hold one of these values; nothing was stored") from error
    except (OperationalError, InterfaceError) as error:
        raise StoreUnavailable("the connection to PostgreSQL was lost; nothing was written") from error
