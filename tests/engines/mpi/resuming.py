"""Training that resumes after a process was killed.

    python resuming.py FOLDER [EPOCH]

The last process kills itself in that epoch. Without EPOCH, training runs to its end, is compared
with uninterrupted training, and each process writes FOLDER/RANK.json.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

import pinnace as tf

folder, killed = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None
keras = tf.keras
strategy = tf.distribute.MultiWorkerMirroredStrategy()
RANK = strategy.cluster_resolver.task_id
X = np.random.default_rng(0).standard_normal((24, 3)).astype(np.float32)
Y = X.sum(1, keepdims=True)


class Killing(keras.callbacks.Callback):
    epochs = ()

    def on_epoch_begin(self, epoch, logs=None):
        self.epochs = (*self.epochs, epoch)
        if epoch == killed and strategy.num_replicas_in_sync - 1 == RANK:
            os.kill(os.getpid(), signal.SIGKILL)


def trained(scope, callbacks):
    with scope:
        first = keras.initializers.GlorotUniform(seed=1)
        model = keras.Sequential(
            [keras.Input([3]), keras.layers.Dense(1, kernel_initializer=first)]
        )
        model.compile(keras.optimizers.Adam(0.05), "mse")
    options = {"batch_size": 12, "epochs": 5, "shuffle": False, "verbose": 0}
    model.fit(X, Y, callbacks=callbacks, **options)
    return model


killing = Killing()
backup = keras.callbacks.BackupAndRestore(str(folder / "backup"))
model = trained(strategy.scope(), [backup, killing])
alone = trained(tf.distribute.get_strategy().scope(), [])
pairs = zip(model.get_weights(), alone.get_weights(), strict=True)
found = {
    "epochs": killing.epochs,
    "apart": max(float(np.abs(a - b).max()) for a, b in pairs),
    "steps": int(model.optimizer.iterations.numpy()),
    "left": (folder / "backup").exists(),
}
(folder / f"{RANK}.json").write_text(json.dumps(found))
