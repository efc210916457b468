"""One service as the chaos runs start it: `python -m tests.chaos.process ingest|embed`.

It is `python -m sourcier.services.<name>`, after changes that SOURCIER_CHAOS (JSON) asks for: shorter waits, a
reader and a model that start at once, or a rule broken on purpose. The services themselves have no switch for this.
"""

from __future__ import annotations

import asyncio
import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

from tests.chaos import broken, describing

VARIABLE = "SOURCIER_CHAOS"
LAG_SECONDS = 0.01


def main() -> None:
    """Change what was asked for, then become the service."""
    service = sys.argv[1]
    options: dict[str, Any] = json.loads(os.environ.get(VARIABLE, "{}"))
    if options.get("hurried"):
        shorten_waits(service, ack_wait_seconds=float(options["hurried"]))
    if options.get("plain_reader") and service == "ingest":
        read_plainly()
    if options.get("arithmetic_model") and service == "embed":
        compute_by_arithmetic()
    if options.get("lag_folder"):
        measure_lag(Path(options["lag_folder"]) / f"{service}-lag.json")
    if options.get("broken"):
        broken.BREAKS[options["broken"]](service)
    sys.argv = [f"sourcier.services.{service}"]
    runpy.run_module(f"sourcier.services.{service}", run_name="__main__")


def shorten_waits(service: str, *, ack_wait_seconds: float) -> None:
    """Let what a dead worker held come back sooner, so that a run of seconds sees many deaths."""
    from sourcier.services.chassis.queue import consuming

    os.environ["SOURCIER_ACK_WAIT_SECONDS"] = str(ack_wait_seconds)
    consuming.CHECK_SECONDS = 2.0
    if service == "ingest":
        from sourcier.services.ingest import relay
        from sourcier.services.ingest.buckets import collector, reconciler

        collector.LEASE_SECONDS, collector.RENEW_SECONDS = ack_wait_seconds, ack_wait_seconds / 3
        relay.BROKER_SECONDS, reconciler.LOOK_SECONDS = 1.0, 1.0


def read_plainly() -> None:
    """Read documents as marked-up lines, in the real killable processes: the parsers take a second to import."""
    from sourcier.services.ingest import components
    from sourcier.services.ingest.stages import sandbox
    from sourcier.services.ingest.stages.by_parts import recognisers, transcribers

    sandbox._ZYGOTE = "tests.chaos.reader"
    recognisers._PROGRAM = "tests.chaos.ocr_reader"
    transcribers._PROGRAM = "tests.chaos.speech_reader"
    components.vision_endpoint = describing.plain_vision  # type: ignore[assignment]
    components.speech_model = lambda *_: transcribers.SpeechModel("", "plain")
    os.environ["SOURCIER_INGEST_SPEECH"] = "true"


def compute_by_arithmetic() -> None:
    """Make vectors without a graph: half a gigabyte of weights proves nothing here."""
    from sourcier.services.embed import engines
    from tests.unit.embed.fix_embedding import ArithmeticEngine

    engines.open_engine = lambda *_, **__: ArithmeticEngine(streams=2)


def measure_lag(path: Path) -> None:
    """Note how late the event loop is, all the time that the service runs: 99th percentile and maximum, in seconds."""
    from sourcier.services.chassis import lifecycle

    serve = lifecycle.serve

    async def watched(*arguments: Any) -> None:
        watching = asyncio.create_task(_watch_lag(path), name="lag")
        try:
            await serve(*arguments)
        finally:
            watching.cancel()

    lifecycle.serve = watched  # type: ignore[assignment]


async def _watch_lag(path: Path) -> None:
    lags: list[float] = []
    while True:
        began = time.monotonic()
        await asyncio.sleep(LAG_SECONDS)
        lags.append(time.monotonic() - began - LAG_SECONDS)
        if len(lags) % 50 == 0:
            ordered = sorted(lags)
            found = {"p99": ordered[len(ordered) * 99 // 100], "most": ordered[-1], "looks": len(ordered)}
            path.with_suffix(".new").write_text(json.dumps(found))
            path.with_suffix(".new").rename(path)


if __name__ == "__main__":
    main()
