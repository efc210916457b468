"""How passages are searched for: the options of a question, and `--retrieval key=value` of a collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.failure import Failure

if TYPE_CHECKING:
    from sourcier.gateway.v1 import knowledge_pb2

_READ: dict[str, Callable[[str], Any]] = {
    "limit": int, "passages": int, "candidates": int, "mode": str, "rerank": bool, "result_threshold": float,
    "exact": bool, "suppress_duplicates": bool, "neighbours": int, "neighbour_tokens": int, "detect_categories": bool,
}
_TRUTH = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}
_KINDS = {int: "a whole number", float: "a number", bool: "on or off"}


def how_to_search(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how its passages are searched for; what is not given stays None."""
    for option in (
        click.option("--chunk-type", "chunk_types", multiple=True,
                     help="Only passages made of this, as text; may be repeated."),
        click.option("--threshold", "result_threshold", type=click.FloatRange(-1, 1),
                     help="Leave out passages of a lower cosine similarity."),
        click.option("--suppress-duplicates/--keep-duplicates", default=None,
                     help="Whether passages that say the same count once."),
        click.option("--neighbours", type=click.IntRange(0, 5),
                     help="Chunks before and after each passage that come with it."),
        click.option("--neighbour-tokens", type=click.IntRange(1, 8_000), help="Most tokens of all neighbours."),
        click.option("--detect-categories/--no-detect-categories", default=None,
                     help="Whether categories that the question names narrow the search."),
    ):
        command = option(command)
    return command


searched = click.option(
    "--retrieval", "retrieval", multiple=True, metavar="KEY=VALUE",
    help=f"How passages are searched for, may be repeated; an empty value leaves it to the service again. Keys: "
         f"{', '.join(_READ)}.",
)


def read_settings(given: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings by name, and the names that are left to the service again."""
    settings: dict[str, Any] = {}
    reset: list[str] = []
    for each in given:
        name, separator, text = each.partition("=")
        if not separator or name not in _READ:
            raise Failure(f"--retrieval {each!r} is not KEY=VALUE with a known key",
                          hint=f"keys: {', '.join(_READ)}", exit_code=2)
        if not text:
            reset.append(name)
            continue
        settings[name] = _read(name, text)
    return settings, reset


def told(settings: knowledge_pb2.RetrievalSettings) -> str:
    """Return settings as a person reads and types them; empty where the service decides on all."""
    return " ".join(f"{field.name}={_told(value)}" for field, value in settings.ListFields())


def _read(name: str, text: str) -> Any:
    kind = _READ[name]
    try:
        return _TRUTH[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise Failure(f"--retrieval {name} cannot be {text!r}: give {_KINDS[kind]}",  # type: ignore[index]
                      hint=f"--retrieval {name}= leaves it to the service", exit_code=2) from None


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
