"""The model's own time: one row at a time, as a client that waits for each answer asks.

    python alone.py FOLDER SECONDS

Prints the median in milliseconds. Between two runs it sleeps for about as long as a request is on
its way: a processor that rests runs the next one more slowly.
"""

import statistics
import sys
import time
from pathlib import Path

from pinnace.framework import config
from pinnace.serving.models.loading import load_model
from servers.models import rows

_PAUSE_S = 1e-4


def main(folder: str, seconds: float) -> float:
    """Milliseconds of a run."""
    config.set_intra_op_parallelism_threads(1)
    signature = load_model(Path(folder)).signatures["serving_default"]
    feeds = {name: rows(1) for name in signature.inputs}
    found = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        signature.run_arrays(feeds)
        found.append(time.perf_counter() - begin)
        time.sleep(_PAUSE_S)
    return statistics.median(found[len(found) // 4 :]) * 1e3


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1], float(sys.argv[2])):.4f}\n")
