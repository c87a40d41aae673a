"""Prints the peaks of memory of RevNet's gradients, eagerly or in functions, by depth.

A process of its own, with nothing compiled: the thread that compiles kernels takes memory, and
kernels take less of it than the plan, from whatever moment they are ready.
"""

import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.functions.function import Function

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "revnet"))
import revnet


def peak_bytes(work: Any) -> int:
    """The most that a run takes, once there are variables and caches."""
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
    """What the plan of a function keeps for its intermediate results from run to run."""
    if not isinstance(work, Function):
        return 0
    plan = plan_of(work.get_concrete_function().graph)
    prepared = [one for one in plan.tiers._tier.prepared.values() if one is not None]
    spare = [workspace for one in prepared for workspace in one.spare]
    assert len(spare) <= 1  # runs are one after the other
    return sum(buffer.nbytes for workspace in spare for buffer in workspace.buffers)


def peaks_of(blocks: int, wrap: Any) -> tuple[int, int]:
    """Of gradients that rebuild the inputs, and of plain backpropagation."""
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
