"""`make bench-producers`: models of JAX, ydf and transformers beside their own libraries."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import report
from harness import OURS, environment
from producers import paired, store, table
from producers.workloads import FORESTS, KERAS, LAYERS, SHORT, WORDS, Workload, every


def main() -> int:
    """Run the command line; 1 if a side failed or gave a wrong answer."""
    options = parse()
    surroundings = environment()
    report.print_environment(surroundings)
    chosen = choose(options.only, short=options.short)
    with_loads = not options.only or LAYERS in options.only
    for kind in (KERAS, FORESTS, WORDS):
        names = [work.model for work in chosen if work.kind == kind]
        names += [LAYERS] if kind == KERAS and with_loads else []
        if options.short and not store.reachable(kind, names):
            print(f"{kind}: skipped, its models are not written yet. Try: make bench-producers")
            chosen = [work for work in chosen if work.kind != kind]
            with_loads = with_loads and kind != KERAS
        else:
            store.prepare(kind, names)
    rows: list[paired.Row] = []
    # A part would replace it all.
    target = None if options.only or options.short else options.markdown
    loads = paired.measure_loads(short=options.short) if with_loads else None
    for number, work in enumerate(chosen):
        row = paired.measure(work, short=options.short)
        rows.append(row)
        print(f"{number + 1}/{len(chosen)} " + ", ".join(table.cells(row)), flush=True)
        if target is not None:  # after each, so that one that is broken off leaves a table
            table.write_markdown(target, rows, loads, surroundings)
    table.print_rows(rows, loads)
    failures = table.failed(rows)
    for failure in failures:
        print(f"FAILED {failure}", file=sys.stderr)
    # A peer that fails is a row of the table; ours, and anything in the short form, is an error.
    return 1 if failures and (options.short or any(OURS in row.failures for row in rows)) else 0


def choose(only: list[str] | None, *, short: bool = False) -> list[Workload]:
    """All, a few of each kind, or those whose name, model or kind is named."""
    if only:
        return [work for work in every() if {work.name, work.model, work.kind} & set(only)]
    return [work for work in every() if not short or work.name in SHORT]


def parse() -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(description="pinnace on models of other producers")
    parser.add_argument("--only", action="append", metavar="NAME", help="a row, model or kind")
    parser.add_argument("--short", action="store_true", help="a few, in one round")
    parser.add_argument("--list", action="store_true", help="print the rows' names")
    parser.add_argument("--markdown", type=Path, help="write all rows there, and a JSON beside")
    options = parser.parse_args()
    known = {name for work in every() for name in (work.name, work.model, work.kind)} | {LAYERS}
    if options.list:
        print("\n".join(work.name for work in every()))
        sys.exit()
    if unknown := set(options.only or ()) - known:
        parser.error(f"--only: nothing named {sorted(unknown)}. Try: --list")
    return options


if __name__ == "__main__":
    sys.exit(main())
