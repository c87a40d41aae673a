"""One model, trained by several processes that MPI joins; killed, it goes on where it was.

    pip install '.[mpi]'
    mpirun -n 2 python examples/processes.py
    python examples/processes.py             # one process

As root, as in a container, and with more processes than cores:

    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 ...
"""

from __future__ import annotations

import argparse

import numpy as np

import pinnace as tf

BATCH = 64


def data(rows):
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, 16)).astype(np.float32)
    return x, np.sin(x @ random.standard_normal((16, 1))).astype(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--backup", default="backup", help="a folder, gone when training ends")
    args = parser.parse_args()

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    task = strategy.cluster_resolver
    print(f"process {task.task_id} of {strategy.num_replicas_in_sync}")
    with strategy.scope():
        model = tf.keras.Sequential(
            [
                tf.keras.Input((16,)),
                tf.keras.layers.Dense(32, activation="tanh"),
                tf.keras.layers.Dense(1),
            ]
        )
        model.compile(tf.keras.optimizers.Adam(0.01), "mse")
    x, y = data(4096)
    rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(BATCH)
    backup = tf.keras.callbacks.BackupAndRestore(args.backup)
    model.fit(rows, epochs=args.epochs, verbose=2, callbacks=[backup])
    loss = model.evaluate(x, y, batch_size=BATCH, verbose=0)
    print(f"process {task.task_id}: loss {loss:.4f}, the same in all")


if __name__ == "__main__":
    main()
