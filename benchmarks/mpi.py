"""A training step with 1 and 2 processes of this machine, and what an exchange costs.

    python benchmarks/mpi.py [--steps 30] [--processes 1,2]

Runs itself under `mpirun`, on the loopback device. The global batch is the same for all; each
process has one BLAS thread.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path


def measured(steps: int) -> dict[str, float]:
    """In each process: milliseconds of a step and of a sum, by the medians."""
    import numpy as np

    import pinnace as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras = tf.keras
    with strategy.scope():
        units = [keras.layers.Dense(1024, "relu") for _ in range(4)]
        model = keras.Sequential([keras.Input([1024]), *units, keras.layers.Dense(10)])
        optimizer = keras.optimizers.SGD(0.01)
    rows = 256
    x = np.random.default_rng(0).standard_normal((rows, 1024)).astype(np.float32)
    batches = strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensors((x, x[:, :10])).repeat()
    )

    def step(batch):  # type: ignore[no-untyped-def]  # a user's function
        inputs, truth = batch
        with tf.GradientTape() as tape:
            errors = tf.reduce_mean((model(inputs, training=True) - truth) ** 2, axis=1)
            loss = tf.nn.compute_average_loss(errors, global_batch_size=rows)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    @tf.function
    def run(batch):  # type: ignore[no-untyped-def]  # a user's function
        strategy.run(step, args=(batch,))

    found = iter(batches)
    for _ in range(5):
        run(next(found))
    processes = strategy.extended._processes
    sent, met = processes.sent_bytes, processes.exchanges
    times = []
    for _ in range(steps):
        batch = next(found)
        began = time.perf_counter()
        run(batch)
        times.append(time.perf_counter() - began)
    each = (processes.sent_bytes - sent) / steps
    told = {"step_ms": statistics.median(times) * 1e3, "bytes": each}
    told["exchanges"] = (processes.exchanges - met) / steps
    if processes.size > 1:
        buffer = np.ones(sum(w.size for w in model.get_weights()), np.float32)
        for name, given in (("sum_ms", buffer), ("small_ms", buffer[:100])):
            times = []
            for _ in range(steps):
                processes.meet("a measurement")
                began = time.perf_counter()
                processes.sum([given], "a measurement")
                times.append(time.perf_counter() - began)
            told[name] = statistics.median(times) * 1e3
    told["rank"] = processes.rank
    return told


def main() -> None:
    """Start the processes, and print what the chief measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        told = measured(args.steps)
        if told.pop("rank") == 0:
            sys.stdout.write(json.dumps(told) + "\n")
        return
    changes = {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    mpirun = str(Path(sys.executable).with_name("mpirun"))
    options = ["--oversubscribe", "--bind-to", "none", "--mca", "btl_tcp_if_include", "lo"]
    for count in args.processes.split(","):
        program = [sys.executable, __file__, "--inside", "--steps", str(args.steps)]
        done = subprocess.run(
            [mpirun, *options, "-n", count, *program],
            env={**os.environ, **changes},
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        told = json.loads(done.stdout.splitlines()[-1])
        facts = ", ".join(f"{name} {value:,.3g}" for name, value in told.items())
        sys.stdout.write(f"{count} process(es): {facts}\n")


if __name__ == "__main__":
    main()
