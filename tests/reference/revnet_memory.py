"""Prints the peak memory of RevNet's gradients, eagerly or in functions, by depth.

It is a separate process without compiled kernels, since these need less memory than the plan.
"""

import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pinnace as tf
from pinnace.functions.function import Function

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "revnet"))
import revnet


def peak_bytes(work: Any) -> int:
    """Peak memory of a run, after variables and caches were created."""
    work()
    peaks = []
    for _ in range(3):
        tracemalloc.start()
        try:
            work()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return min(peaks) + kept_bytes(work)


def kept_bytes(work: Any) -> int:
    """The memory that the plan of a function keeps for intermediate results between runs."""
    if not isinstance(work, Function):
        return 0
    plan = work.get_concrete_function().plan
    prepared = [one for one in plan.tiers._tier.prepared.values() if one is not None]
    spare = [workspace for one in prepared for workspace in one.spare]
    assert len(spare) <= 1  # runs are sequential
    return sum(buffer.nbytes for workspace in spare for buffer in workspace.buffers)


def peaks_of(blocks: int, wrap: Any) -> tuple[int, int]:
    """Peaks of gradients that reconstruct the inputs, and of plain backpropagation."""
    tf.keras.utils.set_random_seed(0)
    model = revnet.RevNet(revnet.Hyperparameters(filters=(4,), blocks=blocks))
    x = tf.random.normal((8, 32, 32, 3))
    labels = tf.zeros([8], tf.int32)

    def reversible() -> Any:
        _, saved_hidden = model(x, training=True)
        return model.compute_gradients(saved_hidden, labels)

    def plain() -> Any:
        return model.plain_gradients(x, labels)

    return peak_bytes(wrap(reversible)), peak_bytes(wrap(plain))


if __name__ == "__main__":
    wrap = tf.function if sys.argv[1] == "function" else lambda f: f
    sys.stdout.write(json.dumps([peaks_of(blocks, wrap) for blocks in (2, 8)]))
