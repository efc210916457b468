"""Write the Grafana dashboards of the chart from the table below, or with `--check` prove that they are fresh.

    python deploy/k8s/dashboards.py [--check]

Every expression is run against a real Prometheus by tests/e2e/test_expressions.py. `$namespace` stands for the
installation, `.*` where Prometheus knows none.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "chart" / "observability" / "dashboards"
IN = 'namespace=~"$namespace"'
COLUMNS, HEIGHT = 24, 8


@dataclass(frozen=True)
class Panel:
    """A graph: what it shows, in which unit, and the expressions with their legends."""

    title: str
    unit: str
    expressions: tuple[tuple[str, str], ...]
    description: str = ""


def rate(metric: str, *, by: str = "", where: str = "") -> str:
    """Return how much a counter grows a second; one that was never touched has no series, and is shown as 0.

    Not by a label: the zero has none, and would stand beside the others as a series without a name.
    """
    matched = f"{IN},{where}" if where else IN
    grouped = f"sum by ({by}) " if by else "sum "
    expression = f"{grouped}(rate({metric}{{{matched}}}[$__rate_interval]))"
    return expression if by else f"{expression} or vector(0)"


def quantile(share: float, metric: str, *, by: str = "", where: str = "") -> str:
    """Return the time that such a share of what a histogram observed stayed below."""
    matched = f"{IN},{where}" if where else IN
    grouped = ", ".join(("le", *filter(None, (by,))))
    return f"histogram_quantile({share}, sum by ({grouped}) (rate({metric}_bucket{{{matched}}}[$__rate_interval])))"


def times(title: str, metric: str, *, by: str = "", where: str = "", description: str = "") -> Panel:
    """Return a panel of the median and the 95th percentile of a histogram of seconds."""
    legend = f" {{{{{by}}}}}" if by else ""
    return Panel(title, "s", (
        (quantile(0.5, metric, by=by, where=where), f"p50{legend}"),
        (quantile(0.95, metric, by=by, where=where), f"p95{legend}"),
    ), description)


DASHBOARDS: dict[str, tuple[str, tuple[Panel, ...]]] = {
    "ingestion": ("Sourcier: ingestion", (
        Panel("Age of the oldest document under way", "s", (
            (f"max by (lane) (sourcier_queue_oldest_seconds{{{IN}}})", "{{lane}}"),
        ), "Every accept pod tells the same queues: the greatest, never the sum."),
        Panel("Documents that wait for their release", "short", (
            (f"max by (lane) (sourcier_documents_waiting{{{IN}}})", "{{lane}}"),
        )),
        times("From acceptance to being found", "sourcier_freshness_seconds", by="lane"),
        Panel("Found within a minute", "percentunit", ((
            f'sum by (lane) (rate(sourcier_freshness_seconds_bucket{{{IN},le="60.0"}}[$__rate_interval]))'
            f" / sum by (lane) (rate(sourcier_freshness_seconds_count{{{IN}}}[$__rate_interval]))", "{{lane}}",
        ),), "The objective of the alert SourcierFreshnessMissed is 95 % over an hour."),
        Panel("Messages by stage and outcome", "ops", (
            (rate("sourcier_messages_total", by="stage, outcome"), "{{stage}} {{outcome}}"),
        )),
        times("Time of a message by stage", "sourcier_message_seconds", by="stage"),
        Panel("Messages in hand", "short", ((f"sum by (stage) (sourcier_messages_in_hand{{{IN}}})", "{{stage}}"),)),
        Panel("Documents given up", "ops", (
            (rate("sourcier_dead_letters_total", by="stage, reason"), "{{stage}} {{reason}}"),
        ), "sourcier failures list"),
        Panel("Pages and parts read", "ops", (
            (rate("sourcier_ocr_pages_total", by="outcome"), "pages {{outcome}}"),
            (rate("sourcier_speech_parts_total", by="outcome"), "parts of recordings {{outcome}}"),
        )),
        Panel("What was not read", "ops", ((rate("sourcier_reading_warnings_total", by="code"), "{{code}}"),)),
        Panel("Readers that tried what they may not", "ops", (
            (rate("sourcier_parser_refusals_total", by="what"), "{{what}}"),
        )),
    )),
    "questions": ("Sourcier: questions", (
        Panel("Questions and searches", "reqps", ((
            rate("sourcier_rpc_seconds_count", by="method, code",
                 where='method=~"/sourcier.gateway.v1.AnswerService/.*"'), "{{method}} {{code}}",
        ),)),
        times("Time of calls", "sourcier_rpc_seconds", by="method",
              where='method=~"/sourcier.gateway.v1.AnswerService/.*"'),
        times("Time by stage", "sourcier_stage_seconds", by="stage"),
        Panel("Answers in hand", "short", ((f"sum (sourcier_answers_in_hand{{{IN}}})", "answers"),)),
        Panel("Answers stopped and resumed", "ops", (
            (rate("sourcier_answers_stopped_total", by="why"), "stopped {{why}}"),
            (rate("sourcier_answers_resumed_total", by="source"), "resumed from {{source}}"),
        )),
        Panel("Sentences by finding", "ops", ((rate("sourcier_sentences_total", by="finding"), "{{finding}}"),)),
        times("Time to check a sentence", "sourcier_sentence_check_seconds"),
        Panel("Answers without the language model", "ops", (
            (rate("sourcier_direct_answers_total", by="outcome"), "validated {{outcome}}"),
            (rate("sourcier_yes_no_total", by="decision"), "yes or no {{decision}}"),
            (rate("sourcier_collection_answers_total", by="wanted"), "of the collection {{wanted}}"),
        )),
        Panel("Work done in a lesser way than asked", "ops", (
            (rate("sourcier_degradations_total", by="stage, reason"), "{{stage}} {{reason}}"),
        )),
        times("Time of HTTP requests", "sourcier_http_seconds", by="route"),
    )),
    "models": ("Sourcier: models", (
        times("Time to the first words", "sourcier_first_token_seconds"),
        Panel("Tokens of the language model", "ops", ((rate("sourcier_tokens_total", by="kind"), "{{kind}}"),)),
        Panel("Generations in hand", "short", (
            (f"sum (sourcier_generations_in_hand{{{IN}}})", "generations"),
            (f"sum by (state) (sourcier_engine_requests{{{IN}}})", "engine {{state}}"),
        )),
        Panel("Background generations", "ops", ((rate("sourcier_bulk_generations_total", by="what"), "{{what}}"),)),
        Panel("Tokens embedded", "ops", ((rate("sourcier_embed_tokens_total", by="kind"), "{{kind}}"),)),
        Panel("Tokens that wait to be embedded", "short", (
            (f"sum by (pod, instance) (sourcier_embed_queue_tokens{{{IN}}})", "{{instance}}"),
        )),
        Panel("Questions found in the cache", "ops", (
            (rate("sourcier_embed_cache_lookups_total", by="outcome"), "{{outcome}}"),
        )),
        Panel("Lists ranked", "ops", ((rate("sourcier_rerankings_total", by="by"), "{{by}}"),)),
        times("Time of calls between services", "sourcier_rpc_seconds", by="method",
              where='method=~"/sourcier.(embed|rerank|generate).v1..*"'),
        Panel("Second opinions", "ops", (
            (rate("sourcier_second_opinions_total", by="basis, answer"), "{{basis}} {{answer}}"),
        )),
    )),
    "broker": ("Sourcier: broker and traces", (
        Panel("Messages that wait or are in hand", "short", (
            (f"max by (consumer) (sourcier_queue_messages{{{IN}}})", "{{consumer}}"),
        ), "Every accept pod tells the same queues: the greatest, never the sum."),
        Panel("Deliveries of a message", "short", (
            (quantile(0.95, "sourcier_message_attempts", by="stage"), "p95 {{stage}}"),
        ), "More than 1: work is begun again."),
        Panel("Losses of the broker", "short", ((f"sum (sourcier_broker_losses_total{{{IN}}})", "losses"),)),
        Panel("Notifications of buckets", "ops", (
            (rate("sourcier_bucket_events_total", by="outcome"), "events {{outcome}}"),
            (rate("sourcier_bucket_notifications_total", by="outcome"), "webhook {{outcome}}"),
            (rate("sourcier_reconciled_total", by="kind"), "differences {{kind}}"),
        )),
        Panel("Spans", "ops", ((rate("sourcier_spans_total", by="outcome"), "{{outcome}}"),),
              "failed: the collector did not take them; dropped: it is too slow."),
        Panel("Strangers", "ops", ((rate("sourcier_strangers_total"), "calls"),),
              "Calls between services without the token of the installation."),
    )),
    "tenants": ("Sourcier: tenants", (
        Panel("Calls by tenant", "reqps", ((rate("sourcier_tenant_calls_total", by="tenant"), "{{tenant}}"),)),
        Panel("Calls that did not end well", "reqps", (
            (rate("sourcier_tenant_calls_total", by="tenant, code", where='code!="OK"'), "{{tenant}} {{code}}"),
        )),
        Panel("Refused for want of a place", "ops", (
            (rate("sourcier_refusals_total", by="kind, limit"), "{{kind}}: {{limit}}"),
        ), "limit tenant: one of them took its whole share."),
        Panel("Places taken", "short", ((f"sum by (kind) (sourcier_places_taken{{{IN}}})", "{{kind}}"),)),
        Panel("Erased", "ops", ((rate("sourcier_erased_total", by="kind"), "{{kind}}"),)),
        Panel("Removed by retention", "ops", (
            (rate("sourcier_expired_documents_total"), "documents"),
            (rate("sourcier_expired_conversations_total"), "conversations"),
            (rate("sourcier_expired_messages_total"), "messages"),
        )),
        Panel("Audited calls", "ops", ((rate("sourcier_audit_lines_total", by="code"), "{{code}}"),)),
    )),
}


def dashboard(name: str) -> dict[str, Any]:
    """Return a dashboard as Grafana imports it."""
    title, panels = DASHBOARDS[name]
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "uid": f"sourcier-{name}", "title": title, "tags": ["sourcier"], "schemaVersion": 39, "version": 1,
        "editable": True, "refresh": "30s", "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
            {"name": "namespace", "type": "query", "datasource": source, "label": "Namespace", "includeAll": True,
             "allValue": ".*", "current": {"text": "All", "value": "$__all"}, "refresh": 2,
             "query": {"query": "label_values(sourcier_rpc_seconds_count, namespace)", "refId": "namespace"}},
        ]},
        "panels": [{
            "id": place + 1, "type": "timeseries", "title": panel.title, "datasource": source,
            **({"description": panel.description} if panel.description else {}),
            "gridPos": {"h": HEIGHT, "w": COLUMNS // 2, "x": place % 2 * (COLUMNS // 2), "y": place // 2 * HEIGHT},
            "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
            # With exemplars a point of a histogram leads to the trace that it was observed in.
            "targets": [{"refId": chr(ord("A") + number), "expr": expression, "legendFormat": legend,
                         "exemplar": "histogram_quantile" in expression}
                        for number, (expression, legend) in enumerate(panel.expressions)],
        } for place, panel in enumerate(panels)],
    }


def written(made: dict[str, Any]) -> str:
    """Return a dashboard as JSON, a line for each panel."""
    panels = ",\n".join(f"  {json.dumps(panel, ensure_ascii=False)}" for panel in made["panels"])
    rest = "".join(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},\n" for key, value in made.items()
                   if key != "panels")
    return f'{{\n{rest} "panels": [\n{panels}\n ]\n}}\n'


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: dashboards.py [--check]", file=sys.stderr)
        return 2
    files = {FOLDER / f"{name}.json": written(dashboard(name)) for name in DASHBOARDS}
    stale = [path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text]
    stale += [path for path in FOLDER.glob("*") if path not in files]
    for path in stale:
        if arguments:
            print(f"error: {path.name} is not what the table says; run make deploy", file=sys.stderr)
        elif path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], "utf-8")
        else:
            path.unlink()
    return 1 if arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
