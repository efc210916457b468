"""Run the benchmarks, each by itself, and write what they found: `make bench [ONLY=a,b] [QUICK=1] [PUBLISH=1]`."""

from __future__ import annotations

import argparse
import sys
import time

from bench.catalogue import BENCHMARKS
from bench.harness import run_all
from bench.publishing import report
from bench.publishing.figures import described
from bench.results import RESULTS, Outcome, Run, now, read

EXIT_MISSED, EXIT_FAILED, EXIT_INTERRUPTED = 1, 3, 130


def main() -> int:
    """Measure and report; 0 when every target was reached, 1 when one was missed, 3 when a benchmark failed."""
    arguments = _arguments()
    if arguments.list:
        _print_list(quick=arguments.quick)
        return 0
    # Here, because it asks for versions of what is not needed for a list or for a name that was mistyped.
    from bench.environment import machine, settings

    names = arguments.only or list(BENCHMARKS)
    run = Run(started=now(), machine=machine(), quick=arguments.quick, settings=settings())
    path = RESULTS / f"{time.strftime('%Y-%m-%dT%H%M%S')}.jsonl"
    expected = sum(BENCHMARKS[name].expected_seconds(quick=run.quick) for name in names)
    print(f"{described(run.machine)}\n{len(names)} benchmarks, about {expected / 60:.0f} min; results: {path}",
          flush=True)
    if arguments.publish and run.machine["commit"].endswith("-dirty"):
        print("warning: what is measured is in no commit yet, and will be published as -dirty", flush=True)
    complete = run_all(names, path, run)
    if not path.exists():
        return EXIT_INTERRUPTED
    report.make([path], publish=arguments.publish)
    results = read([path]).values()
    if not complete:
        return EXIT_INTERRUPTED
    if any(result.outcome is not Outcome.FINISHED for result in results):
        return EXIT_FAILED
    return EXIT_MISSED if any(result.missed for result in results) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", type=_names, metavar="NAME,…", help="run these alone")
    parser.add_argument("--quick", action="store_true", help="fewer texts and rounds: all in about eight minutes")
    parser.add_argument("--publish", action="store_true", help="put the figures into docs/measured, too")
    parser.add_argument("--list", action="store_true", help="show the benchmarks")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = [name for name in text.replace(" ", ",").split(",") if name]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"unknown: {', '.join(unknown) or 'nothing named'}; the benchmarks are {', '.join(BENCHMARKS)}"
        )
    return list(dict.fromkeys(names))


def _print_list(*, quick: bool) -> None:
    width = max(map(len, BENCHMARKS))
    # At once: who reads the first lines alone has closed the pipe by the next.
    print("\n".join(f"{name:{width}}  {benchmark.expected_seconds(quick=quick):5d} s  {benchmark.about}"
                    for name, benchmark in BENCHMARKS.items()))


if __name__ == "__main__":
    sys.exit(main())
