"""Networks that TensorFlow wrote, in a first process and in a second one on what the first kept.

    python -m hot.second_process FOLDER [--calls 60] [NAME...]

FOLDER is what `architectures.py` wrote. The first process begins with an empty cache folder and
waits for machine code; the second one takes kernels from it. Each calls the network many
times with changing batch sizes. Nothing is raised, no compiled code is rejected, nothing is written
to stderr, and answers are as right as TensorFlow's: a network in float32 has an error of its own,
which is measured against the same network in float64. HOT_CACHE is a cache folder to begin with
instead: the general kernels take a minute or two.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# Times the error of TensorFlow's own answers, which is 1e-6 of the largest number for most networks
# and 2.7e-5 for EfficientViT_B0, whose attention divides by sums that nearly vanish. Eleven of the
# first twelve have 0.6 to 2.4 times TensorFlow's: sums in another order, and Winograd's transforms.
FACTOR = 4.0
_LONGEST_S = 1800.0


def child(folder: Path, calls: int, waits: bool) -> None:
    """One process: exits with 1 and says why if anything is not as it should be."""
    import numpy as np

    import pinnace
    from pinnace.engine import rejections
    from pinnace.engine.build import plan_of
    from pinnace.framework.context import compiling

    signature = pinnace.saved_model.load(str(folder / "model")).signatures["serving_default"]
    asked, answers, exact = (np.load(folder / f"{n}.npz") for n in ("asked", "answers", "exact"))
    errors = [_distance(answers[batch], exact[batch]) for batch in asked.files]
    random = np.random.default_rng(len(folder.name))
    worst = 0.0

    def call(batch: str) -> None:
        nonlocal worst
        found = signature(pictures=pinnace.constant(asked[batch]))["scores"].numpy()
        worst = max(worst, _distance(found, exact[batch]))

    if waits:
        for batch in asked.files:
            for _ in range(calls):
                with compiling(True):
                    call(batch)
                if plan_of(signature.graph).tiers.is_settled():
                    break
    done = 0
    while done < calls:
        batch = str(random.choice(asked.files))
        for _ in range(min(calls - done, int(random.integers(1, 7)))):
            call(batch)
            done += 1
    said = [f"{one.kind}: {one.difference}" for one in rejections.rejected()]
    if worst > FACTOR * max(errors):
        said.append(f"answers differ by {worst:.1e} of the largest number")
    sys.stdout.write("; ".join(said) or f"{done} calls, {worst:.1e}")
    sys.stdout.write(f" (TensorFlow {max(errors):.1e})")
    sys.exit(bool(said))


def _distance(found: Any, exact: Any) -> float:
    """The largest difference, of the largest number; infinite if a number is none."""
    import numpy as np

    largest = float(np.abs(found - exact).max() / np.abs(exact).max())
    return largest if largest == largest else float("inf")


def run(folder: Path, names: list[str], calls: int) -> int:
    """All architectures, each in two processes; how many failed."""
    failed = 0
    names = names or sorted(one.name for one in folder.iterdir() if (one / "exact.npz").exists())
    with tempfile.TemporaryDirectory() as empty:
        cache = os.environ.get("HOT_CACHE", empty)
        environment = {**os.environ, "PINNACE_CACHE": cache}
        for name in names:
            told = []
            began = time.monotonic()
            for waits in (True, False):
                program = [sys.executable, "-m", "hot.second_process", str(folder / name)]
                program += ["--child", "--calls", str(calls), *(["--waits"] if waits else [])]
                try:
                    done = subprocess.run(
                        program,
                        env=environment,
                        capture_output=True,
                        text=True,
                        timeout=_LONGEST_S,
                        check=False,
                    )
                except subprocess.TimeoutExpired:
                    told.append(f"FAILED: not over after {_LONGEST_S:.0f} s")
                    break
                is_right = done.returncode == 0 and not done.stderr
                told.append(
                    f"{'' if is_right else 'FAILED: '}{done.stdout} {done.stderr[-2000:]}".strip()
                )
            failed += any(one.startswith("FAILED") for one in told)
            seconds = time.monotonic() - began
            sys.stdout.write(f"  {name:<20} {' | '.join(told)} ({seconds:.0f} s)\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(names)} networks in two processes each: {failed} failed\n")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--child", action="store_true")
    parser.add_argument("--waits", action="store_true")
    given = parser.parse_intermixed_args()
    if given.child:
        child(given.folder, given.calls, given.waits)
    return 1 if run(given.folder, given.names, given.calls) else 0


if __name__ == "__main__":
    sys.exit(main())
