"""Names, units and help of every metric by Prometheus' conventions; dashboards and alerts ask for what exists."""

from __future__ import annotations

import re

import pytest
from prometheus_client import REGISTRY

import sourcier.services.chassis.grpc.serving
import sourcier.services.gateway.stopwatch  # noqa: F401
from sourcier.services.chassis.grpc import tenant_calls
from tests.metrics import ROOT, Metric, alerts, asked_for, by_series, declared, grouped_by, panels

METRICS = sorted(declared().values(), key=lambda metric: metric.name)
EXPRESSIONS = {**panels(), **alerts()}
OF_PROMETHEUS = {"namespace", "pod", "instance", "le"}
"""Labels that come with the scrape, or with a histogram."""
NO_BASE_UNIT = re.compile(
    r"_(ms|millis|milliseconds|microseconds|minutes|hours|days|kb|mb|kib|mib|percent|percentage)(_|$)"
    r"|_(count|sum|bucket|created|info)$")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_named_as_prometheus_wants_it(metric: Metric) -> None:
    name = metric.name
    assert re.fullmatch(r"sourcier(_[a-z][a-z0-9]*)+", name)
    assert (metric.kind == "counter") is name.endswith("_total")
    assert not NO_BASE_UNIT.search(name), "a base unit: seconds, bytes, ratio"
    # What is observed has its unit at the end, so that its buckets can be read.
    assert metric.kind != "histogram" or name.endswith(("_seconds", "_bytes", "_texts", "_attempts"))
    assert metric.help.endswith(".")
    assert len(metric.help) > 15
    assert metric.help[0].isupper() or metric.help[0].isdigit()
    for label in metric.labels:
        assert re.fullmatch(r"[a-z][a-z_]*", label)
        assert label not in {"le", "quantile", "job", *OF_PROMETHEUS}


def test_all_that_this_process_registers_was_read_from_the_code() -> None:
    registered = {family.name for family in REGISTRY.collect() if family.name.startswith("sourcier_")}
    assert len(registered) > 20
    assert registered <= {metric.name.removesuffix("_total") for metric in METRICS}


def test_there_is_enough_to_look_at() -> None:
    assert len(METRICS) > 80
    assert len(panels()) > 50
    assert len(alerts()) >= 10


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_an_expression_asks_for_what_there_is(place: str) -> None:
    known, expression = by_series(), EXPRESSIONS[place]
    asked = asked_for(expression)
    assert asked
    for series, labels in asked.items():
        assert series in known, f"{place}: no {series} is declared"
        assert labels <= {*known[series].labels, *OF_PROMETHEUS}, series
    labels = {label for series in asked for label in known[series].labels}
    assert grouped_by(expression) <= labels | OF_PROMETHEUS


def test_a_zero_without_a_name_stands_beside_no_series_with_names() -> None:
    assert [place for place, expression in panels().items()
            if grouped_by(expression) and "or vector(0)" in expression] == []


def test_every_alert_is_explained() -> None:
    page = (ROOT / "docs" / "running" / "operations.md").read_text("utf-8")
    assert [name for name in alerts() if f"`{name}`" not in page] == []


def test_tenants_are_counted_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_calls, "TENANTS_MAX", 2)
    monkeypatch.setattr(tenant_calls, "_known", set())
    for tenant in ("bound-a", "Not A Tenant", "bound-b", "bound-c", "bound-a", ""):
        tenant_calls.count_call(tenant, "PROBED")
    counted = {tenant: REGISTRY.get_sample_value("sourcier_tenant_calls_total", {"tenant": tenant, "code": "PROBED"})
               for tenant in ("bound-a", "bound-b", "bound-c", "_other", "Not A Tenant")}
    assert counted == {"bound-a": 2, "bound-b": 1, "bound-c": None, "_other": 3, "Not A Tenant": None}
