"""`make bench-gate`: no ratio is 1.3 times what was recorded, or it fails.

Both sides of a row run now, on this machine, in turn; what is compared with the record is their
ratio. Rows that are worse are measured once more, and only those that are worse again fail. The
record, `GATE.json`, is made by `make bench-gate ARGS=--record` on a quiet machine: each row twice,
and of its two ratios the larger stands.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import networks
import report
from harness import FOLDER, TENSORFLOW, compare, discover, environment, interpreter_of
from verdicts import WORSE, worsened
from zoo import paired, store, workloads
from zoo.paired import ONNXRUNTIME

RECORD = FOLDER / "GATE.json"
# One of each kind of work, of those that differ little from one run to the next.
CASES = {
    "eager_add": TENSORFLOW,
    "infer_encoder": ONNXRUNTIME,
    "infer_mobilenet": ONNXRUNTIME,
    "infer_perceptron_32": ONNXRUNTIME,
    "lstm_cell_layer": TENSORFLOW,
    "mlp_gradient": TENSORFLOW,
    "scalar_loop_eager": TENSORFLOW,
}
ROWS = {
    "bidirectional_lstm/b32": TENSORFLOW,
    "dense_classifier/train": TENSORFLOW,
    "text_cnn/train": TENSORFLOW,
    "unet/b32": ONNXRUNTIME,
    "vgg_like/train": TENSORFLOW,
}


def measure(names: Iterable[str]) -> dict[str, float]:
    """The ratios of those of the gate's rows that work; the others are told of."""
    found = {}
    for name in names:
        peer = CASES.get(name) or ROWS[name]
        ratio, error = _measure_case(name, peer) if name in CASES else _measure_row(name, peer)
        if ratio is None:
            print(f"{name}: {error}", file=sys.stderr)
        else:
            found[name] = ratio
            print(f"{name}: {ratio:.3g} of {peer}", flush=True)
    return found


def _measure_case(name: str, peer: str) -> tuple[float | None, str]:
    case = discover()[name]
    done, failures = compare(name, case, [peer])
    return (done[0].ratio if done else None), "; ".join(failures.values())


def _measure_row(name: str, peer: str) -> tuple[float | None, str]:
    (workload,) = (work for work in workloads.ordinary() if work.name == name)
    (row,) = paired.measure([workload], peers=[peer])
    return row.ratios("settled_s").get(peer), "; ".join(row.failures.values())


def judge(recorded: Mapping[str, float], found: Mapping[str, float]) -> dict[str, float]:
    """`found`, and of those that are worse than recorded the better of two measurements."""
    worse = worsened(recorded, found)
    if not worse:
        return dict(found)
    print(f"measured once more: {', '.join(worse)}", flush=True)
    again = measure(worse)
    return {**found, **{n: min(r, found.get(n, r)) for n, r in again.items()}}


def record() -> int:
    """Write the record; 1 if a row could not be measured."""
    names = [*CASES, *ROWS]
    first, second = measure(names), measure(names)
    absent = [name for name in names if not {name} <= first.keys() & second.keys()]
    if absent:
        print(f"nothing was recorded: {', '.join(absent)} failed", file=sys.stderr)
        return 1
    ratios = {name: round(max(first[name], second[name]), 4) for name in names}
    whole = {"environment": environment(), "ratios": ratios}
    RECORD.write_text(json.dumps(whole, indent=1) + "\n")
    return 0


def main() -> int:
    """Run the command line; 1 if a row is worse than recorded, twice."""
    parser = argparse.ArgumentParser(description="compares ratios with those recorded")
    parser.add_argument("--record", action="store_true", help="write the record instead")
    parser.add_argument("--only", action="append", metavar="NAME", choices=[*CASES, *ROWS])
    parser.add_argument("--against", type=Path, default=RECORD, help="another record")
    options = parser.parse_args()
    if interpreter_of(TENSORFLOW) is None:
        parser.error("PINNACE_TF_PYTHON is not set. Try: make bench-gate")
    report.print_environment(environment())
    start = time.perf_counter()
    store.prepare(name.partition("/")[0] for name in ROWS)
    for name in CASES:
        model = discover()[name].model
        if model:
            networks.onnx_file(model)
    if options.record:
        return record()
    if not options.against.exists():
        parser.error(f"{options.against} is not there. Try: make bench-gate ARGS=--record")
    recorded = json.loads(options.against.read_text())["ratios"]
    if options.only:
        recorded = {name: recorded[name] for name in options.only}
    found = judge(recorded, measure(recorded))
    failed = worsened(recorded, found)
    for name in failed:
        now = f"{found[name]:.3g}" if name in found else "nothing"
        print(f"FAILED {name}: {now}, recorded {recorded[name]:.3g}; {WORSE:g} times is too much")
    minutes = (time.perf_counter() - start) / 60
    print(f"{len(recorded)} ratios in {minutes:.1f} minutes, {len(failed)} worse than recorded")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
