"""The lines of names and values above a Markdown text: YAML or TOML, shown as a reader would write them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

_YAML = re.compile(r"\A---[^\S\n]*+\n(.*?)\n(?:---|\.\.\.)[^\S\n]*+(?:\n|\Z)", re.S)
_TOML = re.compile(r"\A\+\+\+[^\S\n]*+\n(.*?)\n\+\+\+[^\S\n]*+(?:\n|\Z)", re.S)
_CHARACTERS_MAX = 64 * 1024
_LINES_MAX = 500
_TITLES = ("title", "titre")
_TITLE_LINE = re.compile(r"^(?:title|titre)\s*+:\s*+[\"']?(.*)$", re.M | re.I)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A title, and all other names and values as lines `name : value`."""

    title: str = ""
    text: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    """All names and values, as metadata; none where they are not valid."""


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """Return the front matter and the text below it."""
    for pattern, pairs_of in ((_YAML, _yaml_pairs), (_TOML, _toml_pairs)):
        found = pattern.match(text)
        if found:
            return _front_matter(found.group(1), pairs_of), text[found.end() :]
    return FrontMatter(), text


def _front_matter(written: str, pairs_of: object) -> FrontMatter:
    assert callable(pairs_of)
    try:
        pairs = list(pairs_of(written[:_CHARACTERS_MAX]))[:_LINES_MAX]
    except (yaml.YAMLError, tomllib.TOMLDecodeError, RecursionError, ValueError):
        # Not valid, yet written by somebody: the lines as they are.
        found = _TITLE_LINE.search(written)
        title = found.group(1).rstrip().rstrip("\"'") if found else ""
        return FrontMatter(title, written)
    title = next((value for name, value in pairs if name.lower() in _TITLES and value), "")
    lines = [f"{name} : {value}" if name else value for name, value in pairs if value and value != title]
    return FrontMatter(title, "\n".join(lines), tuple((name, value) for name, value in pairs if name and value))


def _yaml_pairs(written: str) -> Iterator[tuple[str, str]]:
    # Nodes, not values: « 4.20 » stays as it is written, and nothing is built.
    node = yaml.compose(written, Loader=yaml.SafeLoader)
    if not isinstance(node, yaml.MappingNode):
        raise ValueError("no names and values")
    yield from _node_pairs(node, "", depth=0)


def _node_pairs(node: yaml.MappingNode, prefix: str, *, depth: int) -> Iterator[tuple[str, str]]:
    for key, value in node.value:
        name = " ".join(filter(None, (prefix, _scalar(key))))
        # Aliases may refer to one another many times over: neither deep nor long ones are followed.
        if isinstance(value, yaml.MappingNode) and depth < 2:
            yield from _node_pairs(value, name, depth=depth + 1)
        elif isinstance(value, yaml.SequenceNode):
            yield name, ", ".join(filter(None, (_item(item) for item in value.value[:100])))
        else:
            yield name, _scalar(value)


def _item(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return " ".join(filter(None, (f"{_scalar(key)} {_scalar(value)}".strip() for key, value in node.value[:20])))
    return _scalar(node)


def _scalar(node: yaml.Node) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) and node.tag != "tag:yaml.org,2002:null" else ""


def _toml_pairs(written: str) -> Iterator[tuple[str, str]]:
    for name, value in tomllib.loads(written).items():
        if isinstance(value, dict):
            yield from ((f"{name} {inner}", _toml_text(item)) for inner, item in value.items())
        else:
            yield name, _toml_text(value)


def _toml_text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
