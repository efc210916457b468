"""Invitations and calendars (RFC 5545): each event as lines that a person reads, instead of its stored form."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator

CALENDAR_START = "BEGIN:VCALENDAR"
_FOLDED = re.compile(r"\r?\n[ \t]")
_PROPERTY = re.compile(r"([A-Za-z-]{1,40})((?:;(?:[^:\"]|\"[^\"]*+\")*+)?+):(.*)", re.S)
_ZONE = re.compile(r";TZID=\"?([^;:\"]{1,100})", re.I)
_NAME = re.compile(r";CN=\"?([^;:\"]{1,200})", re.I)
_ESCAPED = re.compile(r"\\([\\;,nN])")
_LABELS = {
    "SUMMARY": "Rendez-vous", "DTSTART": "Début", "DTEND": "Fin", "LOCATION": "Lieu", "ORGANIZER": "Organisateur",
    "ATTENDEE": "Invité", "RRULE": "Répétition", "STATUS": "État", "DESCRIPTION": "Description",
}  # fmt: skip
_STATES = {"CANCELLED": "annulé", "TENTATIVE": "provisoire", "CONFIRMED": "confirmé"}
_COMPONENTS = frozenset({"VEVENT", "VTODO", "VJOURNAL"})
_MONTHS = (
    "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
    "décembre",
)  # fmt: skip


def is_calendar(text: str) -> bool:
    """Tell whether a text is a calendar in its stored form."""
    return text[: len(CALENDAR_START) + 8].lstrip("\ufeff \r\n").upper().startswith(CALENDAR_START)


def calendar_text(text: str) -> str:
    """Return the events of a calendar, a block of lines each; nothing where it has none."""
    return "\n\n".join("\n".join(lines) for lines in _events(_FOLDED.sub("", text)) if lines)


def _events(text: str) -> Iterator[list[str]]:
    lines: list[str] | None = None
    inner = 0
    for line in text.splitlines():
        found = _PROPERTY.match(line)
        if found is None:
            continue
        name, parameters, value = found[1].upper(), found[2], found[3].strip()
        if name == "BEGIN":
            if lines is not None:
                inner += 1  # an alarm within the event
            elif value.upper() in _COMPONENTS:
                lines, inner = [], 0
        elif name == "END" and lines is not None:
            if inner:
                inner -= 1
            else:
                yield lines
                lines = None
        elif lines is not None and not inner and name in _LABELS:
            shown = _shown(name, parameters, value)
            if shown:
                lines.append(f"{_LABELS[name]} : {shown}")


def _shown(name: str, parameters: str, value: str) -> str:
    if name in ("DTSTART", "DTEND"):
        return _moment(value, parameters)
    if name in ("ORGANIZER", "ATTENDEE"):
        person = _NAME.search(parameters)
        address = value.partition(":")[2] if value[:7].lower() == "mailto:" else value
        return f"{person[1]} <{address}>" if person and person[1] != address else address
    if name == "STATUS":
        return _STATES.get(value.upper(), value)
    return _ESCAPED.sub(lambda sign: "\n" if sign[1] in "nN" else sign[1], value).strip()


def _moment(value: str, parameters: str) -> str:
    zone = _ZONE.search(parameters)
    for form, with_time in (("%Y%m%dT%H%M%S", True), ("%Y%m%d", False)):
        try:
            moment = dt.datetime.strptime(value.rstrip("Zz"), form)
        except ValueError:
            continue
        day = f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
        named = "UTC" if value[-1:] in "Zz" else zone[1] if zone else ""
        return f"{day}, {moment:%H:%M}{f' ({named})' if named else ''}" if with_time else day
    return value
