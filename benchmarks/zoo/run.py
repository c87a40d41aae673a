"""`make bench-zoo` and `make bench-special`: workloads, each beside the peers that can run it."""

import argparse
import itertools
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import report
from harness import OURS, environment
from zoo import paired, store, table, workloads
from zoo.workloads import Workload

# A few of each kind, for CI: they are small, and cover what the others are made of.
SHORT = (
    *("bert_like/b32", "bidirectional_lstm/b32", "gpt_step/b32", "mobilenet_v2/b32", "unet/b32"),
    *("vectorized_text/b32", "wide_and_deep/b32"),
    *("densenet_like/train", "gru/train", "text_cnn/train", "odd_cnn/train"),
)


def main() -> int:
    """Run the command line; 1 if ours failed or gave a wrong answer."""
    options = parse()
    start = time.perf_counter()
    surroundings = environment()
    report.print_environment(surroundings)
    chosen = choose(options.only, short=options.short, special=options.special)
    if options.markdown and options.only:
        chosen = [work for work in chosen if work.name in names_in(options.markdown)]
    if options.short and not store.reachable(work.network for work in chosen):
        print("the zoo: skipped, TensorFlow has not written its models yet. Try: make bench-zoo")
        return 0
    store.prepare({work.network for work in chosen})
    rows: list[paired.Row] = []
    whole = not options.only and not options.short  # a part would replace it all
    for number, group in enumerate(groups := together(chosen)):
        print(f"{number + 1}/{len(groups)} {', '.join(w.name for w in group)}", flush=True)
        found = paired.measure(group, short=options.short, peers=[] if options.short else None)
        for row in found:
            print(table.line(row), flush=True)
        rows += found
        if options.markdown and whole:  # after each, so that one that is broken off leaves a table
            minutes = (time.perf_counter() - start) / 60
            write(options.markdown, rows, surroundings, minutes, len(chosen) - len(rows))
    if options.markdown and options.only:
        again(options.markdown, rows, surroundings)
    table.print_rows(rows)
    for row in rows:
        for side, error in row.failures.items():
            print(f"FAILED {row.workload.name}, {side}: {error}", file=sys.stderr)
    minutes = (time.perf_counter() - start) / 60
    failed = sum(OURS in row.failures for row in rows)
    print(f"{len(rows)} rows in {minutes:.1f} minutes, {failed} failed")
    return 1 if failed else 0


def write(
    file: Path, rows: Sequence[paired.Row], surroundings: dict[str, Any], minutes: float, left: int
) -> None:
    """The table, and a JSON beside it; `left` rows are not measured yet."""
    table.write_markdown(file, rows, surroundings, minutes, left)
    record = {
        "environment": surroundings,
        "minutes": minutes,
        "results": [row.record() for row in rows],
        "left": left,
    }
    file.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")


def again(file: Path, rows: Sequence[paired.Row], surroundings: dict[str, Any]) -> None:
    """Put rows in the place of theirs in a table that is there; the table tells when they were."""
    record = json.loads(file.with_suffix(".json").read_text())
    every = {work.name: work for work in [*workloads.ordinary(), *workloads.special()]}
    kept = {one["name"]: paired.Row.of_record(one, every[one["name"]]) for one in record["results"]}
    unknown = [row.workload.name for row in rows if row.workload.name not in kept]
    if unknown:
        raise SystemExit(f"{file} has no rows {unknown}: run without --only to measure them all")
    for row in rows:
        row.measured = f"{surroundings['date']}, commit {surroundings['commit']}"
        kept[row.workload.name] = row
    write(file, list(kept.values()), record["environment"], record["minutes"], record["left"])


def names_in(file: Path) -> set[str]:
    """The rows that a table has: only those can be measured again."""
    record = json.loads(file.with_suffix(".json").read_text())
    return {one["name"] for one in record["results"]}


def choose(
    only: Sequence[str] | None, *, short: bool = False, special: bool = False
) -> list[Workload]:
    """The ordinary or the special, a few of both, or those whose name or network is named."""
    every = [*workloads.ordinary(), *workloads.special()]
    if only:
        return [work for work in every if {work.name, work.network} & set(only)]
    if short:
        return [work for work in every if work.name in SHORT]
    return workloads.special() if special else workloads.ordinary()


def together(chosen: Sequence[Workload]) -> list[list[Workload]]:
    """The batches of one network share their processes."""
    alike = itertools.groupby(chosen, key=lambda work: (work.network, work.kind, work.special))
    return [list(group) for _, group in alike]


def parse() -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(description="pinnace's zoo of ordinary workloads")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="a row or a network; with --markdown it takes the place of what is there",
    )
    parser.add_argument("--short", action="store_true", help="a few, without peers")
    parser.add_argument("--special", action="store_true", help="the special runs, not the others")
    parser.add_argument("--list", action="store_true", help="print the rows' names")
    parser.add_argument("--markdown", type=Path, help="write the tables there, and a JSON beside")
    options = parser.parse_args()
    every = [*workloads.ordinary(), *workloads.special()]
    names = {name for work in every for name in (work.name, work.network)}
    if options.list:
        print("\n".join(work.name for work in every))
        sys.exit()
    if unknown := set(options.only or ()) - names:
        parser.error(f"--only: nothing named {sorted(unknown)}. Try: --list")
    return options


if __name__ == "__main__":
    sys.exit(main())
