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
    """Return where something stands: “p. 3”, “image, p. 3”, « à 12 min 40 s »; empty where nobody knows."""
    # Nobody says which language the reader has; most have French.
    places = list(places)
    where = f"p. {page}" if page else moment_of(places, french=True)
    return ", ".join(filter(None, ("image", where))) if any(place.picture for place in places) else where


def moment_of(places: Iterable[place_pb2.Place], *, french: bool) -> str:
    """Return when it is said, of what stands in a recording: “at 12 min 40 s”; empty for anything else."""
    times = (place.time for place in places if place.WhichOneof("where") == "time")
    first = next(times, None)
    if first is None:
        return ""
    return f"{'à' if french else 'at'} {spoken(first.start.seconds)}"
