"""What PostgreSQL keeps of the text that clients send: all but NUL, which it refuses without naming a field."""

from __future__ import annotations

from sourcier.services.chassis.errors import InvalidArgument


def check_storable(*texts: str, field: str) -> None:
    """Raise `InvalidArgument` for a text that no column can hold, of the request's field that it came in."""
    if any("\x00" in text for text in texts):
        raise InvalidArgument(f"{field} holds a NUL character; leave it out.", field=field)
