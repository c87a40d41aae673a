"""Networks that TensorFlow wrote, each in a separate process.

    python -m hot.networks FOLDER [--calls 60] [NAME...]

`architectures.py` wrote FOLDER. A process calls the network many times with changing batch sizes.
Nothing is raised, rejected, or written to stderr, and results are as accurate as TensorFlow's: a
network in float32 has a rounding error, which is measured against the same network in float64. All
calls of a form give the bits of its first call.
"""

from __future__ import annotations

import argparse
import collections
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# Multiple of the error of TensorFlow's own results, which is 1e-6 of the largest number for most
# networks and 2.7e-5 for EfficientViT_B0, whose attention divides by sums that nearly vanish.
# Eleven of the first twelve have 0.6 to 2.4 times TensorFlow's error: sums in another order, and
# Winograd's transforms.
FACTOR = 4.0
_LONGEST_S = 1800.0
# Calls with the same shapes after which the form is final.
_EARLY = 4


def child(folder: Path, calls: int) -> None:
    """Check one network in its process: exits with 1 and prints the reason on any fault."""
    import numpy as np

    import pinnace
    from pinnace.engine import rejections

    signature = pinnace.saved_model.load(str(folder / "model")).signatures["serving_default"]
    asked, answers, exact = (np.load(folder / f"{n}.npz") for n in ("asked", "answers", "exact"))
    errors = [_distance(answers[batch], exact[batch]) for batch in asked.files]
    random = np.random.default_rng(len(folder.name))
    worst, changed = 0.0, 0
    last: dict[str, Any] = {}
    often: collections.Counter[str] = collections.Counter()

    def call(batch: str) -> None:
        nonlocal worst, changed
        found = signature(pictures=pinnace.constant(asked[batch]))["scores"].numpy()
        worst = max(worst, _distance(found, exact[batch]))
        often[batch] += 1
        if often[batch] > _EARLY:
            changed += not np.array_equal(found, last[batch])
        last[batch] = found

    done = 0
    while done < calls:
        batch = str(random.choice(asked.files))
        for _ in range(min(calls - done, int(random.integers(1, 7)))):
            call(batch)
            done += 1
    said = [f"{one.kind}: {one.difference}" for one in rejections.rejected()]
    if worst > FACTOR * max(errors):
        said.append(f"answers differ by {worst:.1e} of the largest number")
    if changed:
        said.append(f"{changed} answers differ from those of the call before")
    sys.stdout.write("; ".join(said) or f"{done} calls, {worst:.1e}")
    sys.stdout.write(f" (TensorFlow {max(errors):.1e})")
    sys.exit(bool(said))


def _distance(found: Any, exact: Any) -> float:
    """The largest difference relative to the largest number; infinite if there is a NaN."""
    import numpy as np

    largest = float(np.abs(found - exact).max() / np.abs(exact).max())
    return largest if largest == largest else float("inf")


def run(folder: Path, names: list[str], calls: int) -> int:
    """Run all architectures; returns the number of failures."""
    failed = 0
    names = names or sorted(one.name for one in folder.iterdir() if (one / "exact.npz").exists())
    for name in names:
        began = time.monotonic()
        program = [sys.executable, "-m", "hot.networks", str(folder / name)]
        try:
            done = subprocess.run(
                [*program, "--child", "--calls", str(calls)],
                capture_output=True,
                text=True,
                timeout=_LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            is_right, told = False, f"not over after {_LONGEST_S:.0f} s"
        else:
            is_right = done.returncode == 0 and not done.stderr
            told = f"{done.stdout} {done.stderr[-2000:]}".strip()
        failed += not is_right
        seconds = time.monotonic() - began
        sys.stdout.write(f"  {name:<20} {'' if is_right else 'FAILED: '}{told} ({seconds:.0f} s)\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(names)} networks: {failed} failed\n")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--child", action="store_true")
    given = parser.parse_intermixed_args()
    if given.child:
        child(given.folder, given.calls)
    return 1 if run(given.folder, given.names, given.calls) else 0


if __name__ == "__main__":
    sys.exit(main())
