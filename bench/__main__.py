"""Run the benchmarks: `python -m bench [--only NAME] [--quick]`."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from bench import direct, embedding, freshness, generating, generation_settings, ingestion, resuming, searching, startup
from bench.environment import machine
from bench.measuring import RESULTS

BENCHMARKS = {
    "embedding": embedding.run, "ingestion": ingestion.run, "freshness": freshness.run, "search": searching.run,
    "generate": generating.run, "resume": resuming.run, "direct": direct.run, "startup": startup.run,
    "generation-settings": generation_settings.run,
}


def main() -> int:
    """Measure, print tables with their ratios, keep the raw samples; 1 when a target was missed."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", choices=sorted(BENCHMARKS), help="run one benchmark")
    parser.add_argument("--quick", action="store_true", help="fewer texts and rounds")
    arguments = parser.parse_args()
    about = machine()
    path = RESULTS / f"{time.strftime('%Y-%m-%dT%H%M%S')}.jsonl"
    print(" ".join(f"{key}={value}" for key, value in about.items()))
    missed = 0
    for name in [arguments.only] if arguments.only else list(BENCHMARKS):
        for table in asyncio.run(BENCHMARKS[name](quick=arguments.quick)):
            table.write(path, machine=about)
            print("\n" + "\n".join(table.lines()), flush=True)
            missed += table.missed
    print(f"\nraw samples: {path}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
