"""Write the page of all settings: each one's default, its bounds, and the sentence that stands beside it in the code.

    .venv/services/bin/python -m requirements.settings [--check]

With `--check` nothing is written: exit code 1 where the page tells other settings than the code has.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from sourcier.services.chassis.environment import is_secret, variable_of
from sourcier.services.chassis.settings import (
    ModelSettings,
    NatsSettings,
    ObjectStoreSettings,
    PostgresSettings,
    ServiceSettings,
    SubjectSettings,
)
from sourcier.services.embed.settings import EmbedSettings
from sourcier.services.gateway.access.settings import AccessSettings
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.generate.settings import GenerateSettings
from sourcier.services.ingest.settings import IngestSettings
from sourcier.services.rerank.settings import RerankSettings
from sourcier.services.stack.settings import StackSettings
from sourcier.services.web.settings import WebSettings

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "running" / "settings.md"
BEGIN = "<!-- settings: make tree -->"
SECTIONS: tuple[tuple[str, type[BaseSettings], type[BaseSettings]], ...] = (
    ("Every service", ServiceSettings, GatewaySettings),
    ("NATS", SubjectSettings, GatewaySettings), ("", NatsSettings, IngestSettings),
    ("PostgreSQL", PostgresSettings, GatewaySettings),
    ("The object store", ObjectStoreSettings, IngestSettings),
    ("Models", ModelSettings, EmbedSettings),
    ("ingest", IngestSettings, IngestSettings), ("embed", EmbedSettings, EmbedSettings),
    ("rerank", RerankSettings, RerankSettings), ("generate", GenerateSettings, GenerateSettings),
    ("gateway", GatewaySettings, GatewaySettings), ("Who may call the gateway", AccessSettings, GatewaySettings),
    ("web", WebSettings, WebSettings), ("sourcier up", StackSettings, StackSettings),
)
"""A heading, the class whose own settings stand there, and one by which the names of the variables are told."""
BOUNDS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "lt": "< {}", "pattern": "`{}`"}
UNITS = ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


def main(arguments: list[str]) -> int:
    """Write the page, or compare it; the exit code is 1 where it is not what the code says."""
    before, mark, _ = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    fresh = f"{before}{mark}\n\n{tables()}"
    if fresh == PAGE.read_text(encoding="utf-8"):
        return 0
    if "--check" in arguments:
        print(f"error: {PAGE.relative_to(ROOT)} tells other settings than the code has; run: make tree",
              file=sys.stderr)
        return 1
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


def tables() -> str:
    """Return a table for each section."""
    lines: list[str] = []
    for heading, declaring, reading in SECTIONS:
        if heading:
            lines += ["", f"## {heading}", "", "| variable | default | bounds | |", "|---|---|---|---|"]
        lines += rows(declaring, reading)
    return "\n".join(lines[1:]) + "\n"


def rows(declaring: type[BaseSettings], reading: type[BaseSettings]) -> Iterator[str]:
    """Yield a row for each setting that a class declares itself."""
    sentences = docstrings(declaring)
    for name in declaring.__annotations__:
        field = declaring.model_fields.get(name)
        if field is None:
            continue
        variable = variable_of(reading, name)
        if declaring is ServiceSettings and field.validation_alias is None:
            variable = f"SOURCIER_<SERVICE>_{name.upper()}"
        bounds = ["secret"] * is_secret(field) + [*choices(field), *bounds_of(field)]
        cells = (f"`{variable}`", default(name, field), ", ".join(bounds), sentences.get(name, ""))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def default(name: str, field: FieldInfo) -> str:
    """Return a default as people write it."""
    if field.default_factory is not None:
        return "by the system"
    value = field.default
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, (int, float)):
        return number(value, in_bytes="bytes" in name)
    return f"`{value}`"


def number(value: float, *, in_bytes: bool = False) -> str:
    """Return a number with commas, or in the unit of bytes that it is a whole or a half of."""
    for unit, told in UNITS if in_bytes else ():
        if value >= unit and value * 2 % unit == 0:
            return f"{value / unit:g} {told}"
    return f"{value:,.15g}"


def bounds_of(field: FieldInfo) -> Iterator[str]:
    """Yield what a value has to keep to."""
    for each in field.metadata:
        for name, told in BOUNDS.items():
            if (bound := getattr(each, name, None)) is not None:
                yield told.format(bound if isinstance(bound, str) else number(bound))


def choices(field: FieldInfo) -> list[str]:
    """Return the values of a setting that takes no others."""
    kinds = (field.annotation, *get_args(field.annotation))
    return [f"`{value}`" for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)]


def docstrings(declaring: type[BaseSettings]) -> dict[str, str]:
    """Return the text behind each setting of a class, in one line, its pages as links."""
    body = ast.parse(inspect.getsource(declaring)).body[0]
    assert isinstance(body, ast.ClassDef)
    told = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)):
            sentence = " ".join(text.value.value.split())
            told[field.target.id] = re.sub(r"docs/(running/)?([\w/-]+\.md)", _link, sentence)
    return told


def _link(page: re.Match[str]) -> str:
    path = os.path.relpath(ROOT / page.group(), PAGE.parent)
    return f"[{page.group(2)}]({path})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
