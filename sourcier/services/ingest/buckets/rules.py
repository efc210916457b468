"""Which objects of which bucket are documents, and whose: an ordered list of rules, from a file or one by default."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TypeGuard

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.queue.subjects import LANES
from sourcier.services.chassis.tenants import checked_tenant

COLLECTION_CHARACTERS_MAX = 100
CATEGORY_CHARACTERS_MAX = 1024
GLOB_CHARACTERS_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRule:
    """Which keys under a prefix are documents, and where they go. Raises `InvalidArgument` for a value that cannot be.

    Globs are over the key after the prefix, case-sensitive: `*` and `?` within a path segment, `**` across segments
    (`**/` also for none), `[…]` and `[!…]` for one character. `*.pdf` is one folder's, `**/*.pdf` every folder's.
    """

    bucket: str
    prefix: str = ""
    tenant: str = "default"
    collection: str = "default"
    lane: str = "bulk"
    include: tuple[str, ...] = ()
    """Globs; empty: all."""
    exclude: tuple[str, ...] = ()
    """Globs; they win over `include`."""
    size_bytes_max: int = 0
    """0: the service's own limit."""
    category: str = ""

    def __post_init__(self) -> None:
        """Check the values, so that a rule that exists is a rule that works."""
        if not self.bucket:
            raise InvalidArgument("bucket is empty; name the bucket", field="bucket")
        checked_tenant(self.tenant)
        if self.lane not in LANES:
            raise InvalidArgument(f"lane {self.lane!r} is none of {', '.join(map(repr, LANES))}", field="lane")
        if not 1 <= len(self.collection) <= COLLECTION_CHARACTERS_MAX:
            raise InvalidArgument(f"collection {self.collection!r} has {len(self.collection)} characters; give it 1 to "
                                  f"{COLLECTION_CHARACTERS_MAX}", field="collection")
        if len(self.category) > CATEGORY_CHARACTERS_MAX:
            raise InvalidArgument(f"category has {len(self.category)} characters; give it at most "
                                  f"{CATEGORY_CHARACTERS_MAX}", field="category")
        if self.size_bytes_max < 0:
            raise InvalidArgument(f"size_bytes_max is {self.size_bytes_max}; give it a number of bytes, or 0 for the "
                                  "service's own limit", field="size_bytes_max")
        for field, globs in (("include", self.include), ("exclude", self.exclude)):
            for glob in globs:
                _checked(glob, field)

    def takes(self, key: str) -> bool:
        """Tell whether the object of this key is a document of this rule."""
        if not key.startswith(self.prefix) or key.endswith("/"):
            return False
        rest = key[len(self.prefix):]
        included = not self.include or any(_matcher(glob)(rest) for glob in self.include)
        return included and not any(_matcher(glob)(rest) for glob in self.exclude)


@dataclass(frozen=True, slots=True)
class BucketRules:
    """The rules, in the order in which they are asked."""

    rules: tuple[BucketRule, ...]

    def of(self, bucket: str, key: str) -> BucketRule | None:
        """Return the rule that takes the object; the first of its bucket whose prefix fits decides, and may refuse."""
        for rule in self.rules:
            if rule.bucket == bucket and key.startswith(rule.prefix):
                return rule if rule.takes(key) else None
        return None

    @classmethod
    def read(cls, path: Path) -> BucketRules:
        """Read `[[rule]]` tables; raise `InvalidArgument` naming file, rule, field, value and way out."""
        try:
            document = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise InvalidArgument(f"{path}: the bucket rules cannot be read: {error.strerror or error}") from error
        except ValueError as error:  # not TOML, or not UTF-8
            raise InvalidArgument(f"{path}: the bucket rules are not TOML: {error}") from error
        tables = document.pop("rule", [])
        if document:
            raise InvalidArgument(f"{path}: {_quoted(document)} is unknown; rules are tables under [[rule]]")
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise InvalidArgument(f"{path}: rule is no list of tables; begin each rule with [[rule]]")
        if not tables:
            raise InvalidArgument(f"{path}: there is no rule, so that no object would be taken; write [[rule]] and "
                                  'bucket = "…"')
        rules: list[BucketRule] = []
        for number, table in enumerate(tables, 1):
            try:
                rules.append(_rule(table))
                _refuse_unreachable(rules)
            except InvalidArgument as error:
                raise InvalidArgument(f"{path}: rule {number}: {error.message}", field=error.field) from error
        return cls(tuple(rules))

    @classmethod
    def of_bucket(cls, bucket: str) -> BucketRules:
        """Return the default: every object of one bucket, into the default collection."""
        return cls((BucketRule(bucket=bucket),))


def _rule(table: Mapping[str, object]) -> BucketRule:
    known = {field.name for field in fields(BucketRule)}
    if unknown := sorted(set(table) - known):
        raise InvalidArgument(f"{_quoted(unknown)} is unknown; the fields are {', '.join(sorted(known))}")
    if "bucket" not in table:
        raise InvalidArgument("bucket is missing; name the bucket", field="bucket")
    return BucketRule(
        bucket=_text(table, "bucket", ""), prefix=_text(table, "prefix", ""), tenant=_text(table, "tenant", "default"),
        collection=_text(table, "collection", "default"), lane=_text(table, "lane", "bulk"),
        include=_globs(table, "include"), exclude=_globs(table, "exclude"),
        size_bytes_max=_number(table, "size_bytes_max"), category=_text(table, "category", ""),
    )


def _refuse_unreachable(rules: list[BucketRule]) -> None:
    *earlier, rule = rules
    for number, other in enumerate(earlier, 1):
        if other.bucket == rule.bucket and rule.prefix.startswith(other.prefix):
            raise InvalidArgument(
                f"prefix {rule.prefix!r} of bucket {rule.bucket!r} is never asked, since rule {number} decides for "
                f"prefix {other.prefix!r}; put the longer prefix first", field="prefix",
            )


def _text(table: Mapping[str, object], name: str, default: str) -> str:
    value = table.get(name, default)
    if not isinstance(value, str):
        raise InvalidArgument(f"{name} is {value!r}; give it a text in quotes", field=name)
    return value


def _number(table: Mapping[str, object], name: str) -> int:
    value = table.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidArgument(f"{name} is {value!r}; give it a whole number of bytes", field=name)
    return value


def _globs(table: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = table.get(name, [])
    if not _are_texts(value):
        raise InvalidArgument(f'{name} is {value!r}; give it a list of globs, like ["**/*.pdf"]', field=name)
    return tuple(value)


def _are_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _quoted(names: object) -> str:
    assert isinstance(names, (list, dict))
    return ", ".join(repr(name) for name in names)


def _checked(glob: str, field: str) -> None:
    if not glob or len(glob) > GLOB_CHARACTERS_MAX:
        raise InvalidArgument(f"{field} holds a glob of {len(glob)} characters; give it 1 to {GLOB_CHARACTERS_MAX}",
                              field=field)
    try:
        _matcher(glob)
    except re.error as error:
        raise InvalidArgument(f"{field} {glob!r} is no glob: {error.msg}; write [[] for the character '['",
                              field=field) from error


# Python's own translation knows `**` from 3.13 on; fnmatch lets `*` cross folders.
_TOKEN = re.compile(
    r"(?P<folders>(?:(?<=/)|\A)(?:\*\*+/)+)|(?P<all>\*\*+)|(?P<some>\*)|(?P<one>\?)"
    r"|\[(?P<not>!?)(?P<class>\][^\]]*|[^\]]+)\]|(?P<endless>\[.*)|(?P<literal>.)", re.DOTALL,
)


@lru_cache(maxsize=1024)
def _matcher(glob: str) -> Callable[[str], re.Match[str] | None]:
    """Return what matches whole keys; raises `re.error` for a class without end or with a range backwards."""
    return re.compile(_expression(glob), re.DOTALL).fullmatch


def _expression(glob: str) -> str:
    """Translate a glob so that a key takes a time linear in its length, however many stars there are.

    What stands between two stars is looked for at its first place alone: the stars take whatever lies around it.
    """
    parts: list[tuple[str, list[str]]] = [("", [""])]
    for token in _TOKEN.finditer(glob):
        if token["folders"] or token["all"]:
            parts.append(("**/" if token["folders"] else "**", [""]))
        elif token["some"]:
            parts[-1][1].append("")
        else:
            parts[-1][1][-1] += _translated(token)
    *before, (lead, texts) = parts
    return "".join(f"(?>{_first_place(*part)})" for part in before) + _at_end(lead, texts)


def _first_place(lead: str, texts: Sequence[str]) -> str:
    """Return an expression for texts with `*` between them, at the first place that what leads to them allows."""
    first, *others = texts
    begin = {"": first, "**": rf"(?:[^/]*/)*?(?>[^/]*?{first})", "**/": rf"(?:[^/]*/)*?{first}"}[lead]
    return begin + "".join(f"(?>[^/]*?{text})" for text in others)


def _at_end(lead: str, texts: Sequence[str]) -> str:
    *before, last = texts
    if before:
        return f"{_first_place(lead, before)}[^/]*{last}"
    return {"": "", "**": ".*", "**/": "(?:.*/)?"}[lead] + last


def _translated(token: re.Match[str]) -> str:
    if token["one"]:
        return "[^/]"
    if token["class"]:
        # Escaped, so that a backslash is itself and nothing but `-` has a meaning; a class never crosses folders.
        characters = re.sub(r"([\\\[\]^&~|]|-(?=-))", r"\\\1", token["class"])
        return f"(?!/)[{'^' if token['not'] else ''}{characters}]"
    if token["endless"]:
        raise re.error("the class that '[' begins has no end")
    return re.escape(token["literal"])
