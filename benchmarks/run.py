"""The benchmarks' command line, which `make bench` and `make bench-short` call."""

import argparse
import os
import sys
from pathlib import Path

import networks
import report
from harness import (
    FOLDER,
    INTERPRETERS,
    Comparison,
    compare,
    discover,
    environment,
    interpreter_of,
    peers_of,
)


def main() -> int:
    """Run the command line; 1 if a benchmark failed, or with --strict if an aim was missed."""
    options = parse()
    surroundings = environment()
    report.print_environment(surroundings)
    done: list[Comparison] = []
    failures: list[str] = []
    for name, case in discover().items():
        if name not in options.only if options.only else options.short and not case.short:
            continue
        if case.model and not networks.reachable(case.model):
            print(f"{name}: skipped, TensorFlow has not written {case.model} yet. Try: make bench")
            continue
        reachable = [peer for peer in peers_of(case) if interpreter_of(peer)]
        peers = [] if options.short else reachable
        print(
            f"{name}: {case.title}" + (f", against {', '.join(peers)}" if peers else ""), flush=True
        )
        found, failed = compare(name, case, peers, short=options.short)
        done += found
        failures += failed.values()
    report.print_table(done)
    report.write_json(options.json, done, surroundings)
    if options.markdown and options.only:  # a part would replace the whole
        report.put_rows(options.markdown, done, surroundings)
    elif options.markdown:
        report.write_markdown(options.markdown, done, surroundings, failures)
    for failure in failures:
        print(f"FAILED {failure}", file=sys.stderr)
    missed = [comparison.name for comparison in done if comparison.met is False]
    print(f"{len(done)} measured, {len(failures)} failed, {len(missed)} missed their aim")
    return 1 if failures or (options.strict and missed) else 0


def parse() -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(description="pinnace's benchmarks")
    parser.add_argument("--only", action="append", metavar="NAME", help="name of a case")
    parser.add_argument("--short", action="store_true", help="one sample each, without peers")
    parser.add_argument("--strict", action="store_true", help="exit 1 when an aim is missed")
    parser.add_argument("--json", type=Path, default=FOLDER / "results.json")
    parser.add_argument("--markdown", type=Path, help="write the table there too")
    options = parser.parse_args()
    options.short = options.short or os.environ.get("BENCH_SHORT", "0") not in {"", "0"}
    unknown = set(options.only or ()) - set(discover())
    if unknown:
        parser.error(f"--only: no case named {sorted(unknown)}; there are {sorted(discover())}")
    absent = [variable for variable in INTERPRETERS.values() if variable not in os.environ]
    if absent and not options.short:
        print(f"{', '.join(absent)} is not set: no comparison with that peer. Try: make bench")
    return options


if __name__ == "__main__":
    sys.exit(main())
