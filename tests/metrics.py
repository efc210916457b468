"""The metrics that the code declares, read from its text, and the names that an expression of Prometheus asks for."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
OBSERVABILITY = ROOT / "deploy" / "k8s" / "chart" / "observability"
KINDS = {"Counter": "counter", "TotalCounter": "counter", "Gauge": "gauge", "Histogram": "histogram",
         "Summary": "summary", "Info": "info", "Enum": "stateset"}
_SERIES = re.compile(r"(sourcier_[a-z0-9_]+)(?:\{([^}]*)\})?")
_LABEL = re.compile(r"([a-z_]+)\s*(?:=~|!~|!=|=)")
_GROUPED = re.compile(r"\bby \(([a-z_, ]+)\)")


@dataclass(frozen=True)
class Metric:
    """A metric as it is declared."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...]
    module: str

    @property
    def series(self) -> tuple[str, ...]:
        """The names under which Prometheus knows it."""
        return tuple(f"{self.name}{end}" for end in ("_bucket", "_count", "_sum")) if self.kind == "histogram" else (
            self.name,)


@lru_cache(maxsize=1)
def declared() -> dict[str, Metric]:
    """Return the metrics of all services, by name; importing them all would load every model engine."""
    found: dict[str, Metric] = {}
    for path in sorted((ROOT / "sourcier" / "services").rglob("*.py")):
        text = path.read_text("utf-8")
        # Parsing all that is there takes seconds, each time that tests are collected.
        if '"sourcier_' not in text or not any(f"{kind}(" in text for kind in KINDS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS and node.args:
                name = node.args[0]
                if isinstance(name, ast.Constant) and str(name.value).startswith("sourcier_"):
                    labels = node.args[2] if len(node.args) > 2 else next(
                        (each.value for each in node.keywords if each.arg == "labelnames"), None)
                    assert name.value not in found, f"{name.value} is declared twice"
                    found[name.value] = Metric(
                        name.value, KINDS[node.func.id], ast.literal_eval(node.args[1]),
                        tuple(ast.literal_eval(labels)) if labels is not None else (), str(path.relative_to(ROOT)),
                    )
    return found


def by_series() -> dict[str, Metric]:
    """Return the metrics by the names under which Prometheus knows them."""
    return {series: metric for metric in declared().values() for series in metric.series}


def panels() -> dict[str, str]:
    """Return the expressions of the dashboards, by where they stand."""
    return {
        f"{path.stem}: {panel['title']} {target['refId']}": target["expr"]
        for path in sorted((OBSERVABILITY / "dashboards").glob("*.json"))
        for panel in json.loads(path.read_text("utf-8"))["panels"] for target in panel["targets"]
    }


def alerts() -> dict[str, str]:
    """Return the expressions of the alerts, by their names."""
    read = yaml.safe_load((OBSERVABILITY / "rules.yaml").read_text("utf-8"))
    return {rule["alert"]: rule["expr"] for group in read["groups"] for rule in group["rules"]}


def asked_for(expression: str) -> dict[str, set[str]]:
    """Return the series that an expression names, each with the labels that it is matched by."""
    found: dict[str, set[str]] = {}
    for name, matchers in _SERIES.findall(expression):
        found.setdefault(name, set()).update(_LABEL.findall(re.sub(r'"[^"]*"', '""', matchers)))
    return found


def grouped_by(expression: str) -> set[str]:
    """Return the labels that an expression groups by."""
    return {label.strip() for group in _GROUPED.findall(expression) for label in group.split(",")}
