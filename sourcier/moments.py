"""Times in recordings, as people say them: « à 12 min 40 s », “at 12 min 40 s”."""

from __future__ import annotations

from collections.abc import Iterable

from sourcier.gateway.v1 import place_pb2


def spoken(seconds: float) -> str:
    """Return a time from a recording's start as it is said in French and in English alike: 1 h 2 min 5 s."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    parts = [f"{hours} h"] if hours else []
    if minutes:
        parts.append(f"{minute} min")
    return " ".join([*parts, f"{second} s"])


def page_or_moment(page: int, places: Iterable[place_pb2.Place]) -> str:
    """Return on which page something stands, or when it is said: “p. 3”, « à 12 min 40 s »; empty for neither."""
    # Nobody says which language the reader has; most have French.
    return f"p. {page}" if page else moment_of(places, french=True)


def moment_of(places: Iterable[place_pb2.Place], *, french: bool) -> str:
    """Return when it is said, of what stands in a recording: “at 12 min 40 s”; empty for anything else."""
    times = (place.time for place in places if place.WhichOneof("where") == "time")
    first = next(times, None)
    if first is None:
        return ""
    return f"{'à' if french else 'at'} {spoken(first.start.seconds)}"
