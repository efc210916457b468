"""The environment that settings are read from: secrets in files, and variables that no setting knows.

No service imports another, so the names of all settings are read from the text of the modules that declare them.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

PREFIX = "SOURCIER_"
FILE_SUFFIX = "_FILE"
PACKAGE = Path(__file__).parents[2]

FOREIGN_PREFIXES = ("SOURCIER_BENCH_", "SOURCIER_CHAOS", "SOURCIER_TEST_", "SOURCIER_FAILPOINTS")
"""What benchmarks, tests and drills read: it may lie in the environment that services are started from."""
# What Kubernetes adds for a Service called sourcier-…, unless the pod says `enableServiceLinks: false`.
_SERVICE_LINK = re.compile(r"_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_[A-Z]+(_[A-Z]+)?)")
_QUOTED = re.compile(r'"(SOURCIER_[A-Z0-9_]+)"')


def variable_of(settings: type[BaseModel], name: str) -> str:
    """Return the variable that a field is read from."""
    field = settings.model_fields[name]
    return str(field.validation_alias or str(settings.model_config.get("env_prefix", "")) + name.upper())


def is_secret(field: FieldInfo) -> bool:
    """Return whether a field's type says that its value is never shown."""
    return SecretStr in (field.annotation, *get_args(field.annotation))


def read_secret_files(settings: type[BaseModel], environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the secrets that lie in files, by field, and what is wrong, a line each.

    Any secret X may be given as `X_FILE`, the path of a file that holds it, as mounted secrets are. The end of the
    last line is no part of it.
    """
    values: dict[str, str] = {}
    faults: list[str] = []
    for name, field in settings.model_fields.items():
        variable = variable_of(settings, name)
        path = environment.get(variable + FILE_SUFFIX) if is_secret(field) else None
        if path is None:
            continue
        if environment.get(variable):
            faults.append(f"{variable} and {variable}{FILE_SUFFIX} are both set; leave one of them out")
            continue
        try:
            values[name] = Path(path).read_text("utf-8").removesuffix("\n").removesuffix("\r")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
            faults.append(f"{variable}{FILE_SUFFIX}={path}: {reason}; name a file that this process can read")
            continue
        if not values[name]:
            faults.append(f"{variable}{FILE_SUFFIX}={path}: the file is empty; write the secret into it")
    return values, faults


def unknown_variables(environment: Mapping[str, str], *, known: frozenset[str]) -> list[str]:
    """Return a line for each `SOURCIER_…` that no setting knows: a misspelt one would be left at its default."""
    faults = []
    for variable in sorted(environment):
        if not variable.startswith(PREFIX) or variable.startswith(FOREIGN_PREFIXES) or variable in known:
            continue
        if _SERVICE_LINK.search(variable) or environment[variable].startswith(("tcp://", "udp://")):
            continue
        near = difflib.get_close_matches(variable, known, n=1, cutoff=0.6)
        faults.append(f"{variable} is no setting; {f'did you mean {near[0]}?' if near else 'remove it'}")
    return faults


def known_variables(settings: type[BaseModel]) -> frozenset[str]:
    """Return the variables of a settings class, of all others, and of the command line."""
    own = {variable_of(settings, name) for name in settings.model_fields}
    secret = {variable_of(settings, name) + FILE_SUFFIX for name, field in settings.model_fields.items()
              if is_secret(field)}
    return frozenset(own | secret | declared_variables())


@lru_cache(maxsize=1)
def declared_variables() -> frozenset[str]:
    """Return every variable that a settings module of the package declares, or the command line names."""
    classes: dict[str, _Declared] = {}
    for path in sorted(PACKAGE.glob("services/**/settings.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] = _Declared(node)
    names = {name for each in classes.values() if each.prefix for name in each.variables(classes, each.prefix)}
    # What several read under one name, also where no class of this list is a service's.
    names |= {name for each in classes.values() for name, _ in each.shared}
    for folder in (PACKAGE / "cli", PACKAGE / "models", PACKAGE / "services" / "stack"):
        for path in folder.rglob("*.py"):
            names.update(_QUOTED.findall(path.read_text("utf-8")))
    for path in (*PACKAGE.glob("*.py"), *PACKAGE.glob("services/generate/vllm/*.py")):
        names.update(_QUOTED.findall(path.read_text("utf-8")))
    return frozenset(names)


class _Declared:
    """What the text of a settings class says of its variables."""

    def __init__(self, node: ast.ClassDef) -> None:
        self.bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
        self.prefix = ""
        self.shared: list[tuple[str, bool]] = []
        """Whole names without `_FILE`, and whether they are secrets."""
        self._own: list[tuple[str, bool]] = []
        for statement in node.body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "model_config":
                self.prefix = _prefix(statement.value)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                self._add(statement)

    def _add(self, statement: ast.AnnAssign) -> None:
        assert isinstance(statement.target, ast.Name)
        secret = "SecretStr" in ast.unparse(statement.annotation)
        call = statement.value
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "shared" and isinstance(call.args[0], ast.Constant):
            self.shared.append((f"{PREFIX}{call.args[0].value!s}", secret))
        elif "validation_alias" not in (ast.unparse(call) if call else ""):
            self._own.append((statement.target.id.upper(), secret))

    def variables(self, classes: Mapping[str, _Declared], prefix: str) -> Iterator[str]:
        """Yield the variables of this class and of those it is made of, read with a service's prefix."""
        for name, secret in (*self.shared, *((prefix + own, secret) for own, secret in self._own)):
            yield name
            if secret:
                yield name + FILE_SUFFIX
        for base in self.bases:
            if base in classes:
                yield from classes[base].variables(classes, prefix)


def _prefix(value: ast.expr) -> str:
    """Return the prefix that a class is configured with: `settings_config("embed")`, or pydantic's own `env_prefix`."""
    if not isinstance(value, ast.Call):
        return ""
    if ast.unparse(value.func) == "settings_config" and isinstance(value.args[0], ast.Constant):
        return f"{PREFIX}{str(value.args[0].value).upper()}_"
    for keyword in value.keywords:
        if keyword.arg == "env_prefix" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return ""
