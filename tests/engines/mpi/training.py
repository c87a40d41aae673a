"""Training in several processes compared with one: each process writes FOLDER/RANK.json.

python training.py FOLDER
"""

import contextlib
import hashlib
import io
import json
import sys
from pathlib import Path

import numpy as np

import pinnace as tf

folder = Path(sys.argv[1])
strategy = tf.distribute.MultiWorkerMirroredStrategy()
SIZE = strategy.num_replicas_in_sync
RANK = strategy.cluster_resolver.task_id
found = {}
random = np.random.default_rng(0)
X = random.standard_normal((36, 4))
Y = np.tanh(X @ random.standard_normal((4, 2)))
keras = tf.keras


def digest(weights):
    return hashlib.sha256(b"".join(w.tobytes() for w in weights)).hexdigest()


def apart(one, other):
    """The largest difference, relative to the largest value."""
    pairs = list(zip(one, other, strict=True))
    return float(max(np.abs(a - b).max() / max(np.abs(b).max(), 1) for a, b in pairs))


def new_model(optimizer, kind="float32"):
    first = keras.initializers.GlorotUniform(seed=3)
    layers = [keras.Input([4], dtype=kind)]
    layers.append(keras.layers.Dense(5, "tanh", kernel_initializer=first, dtype=kind))
    layers.append(keras.layers.Dense(2, kernel_initializer="ones", dtype=kind))
    model = keras.Sequential(layers)
    model.compile(optimizer, "mse", metrics=["mae"])
    return model


# A custom loop in float64: the gradients are those of the whole batch up to rounding.


def own_loop(kind, size):
    """Train in each process, compared with one that has the whole batch."""
    x, y = tf.constant(X[:size], kind), tf.constant(Y[:size], kind)

    def trained(strategy, batches):
        with strategy.scope() if strategy else contextlib.nullcontext():
            model = new_model(keras.optimizers.SGD(0.1, momentum=0.9), kind)
            optimizer = model.optimizer

        def step(batch):
            inputs, truth = batch
            with tf.GradientTape() as tape:
                errors = tf.reduce_sum((model(inputs, training=True) - truth) ** 2, axis=1)
                loss = tf.nn.compute_average_loss(errors, global_batch_size=size)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            if strategy:
                gradients = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
            return loss, gradients

        @tf.function
        def run(batch):
            if strategy is None:
                return step(batch)
            loss, gradients = strategy.run(step, args=(batch,))
            return strategy.reduce("SUM", loss, axis=None), gradients

        for batch in batches:
            loss, gradients = run(batch)
        return [loss.numpy()], [g.numpy() for g in gradients], model.get_weights()

    rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(size).repeat(3)
    mine = trained(strategy, strategy.experimental_distribute_dataset(rows))
    alone = trained(None, rows)
    differences = [apart(a, b) for a, b in zip(mine, alone, strict=True)]
    return {"apart": max(differences), "weights": digest(mine[2])}


found["own float64"] = own_loop("float64", 36)
found["own float32"] = own_loop("float32", 36)
found["own uneven"] = own_loop("float64", 11)

# `fit`, `evaluate` and `predict`.

OPTIMIZERS = {
    "momentum": lambda: keras.optimizers.SGD(0.05, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(0.05),
    "loss scale": lambda: keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.05), initial_scale=8.0, dynamic_growth_steps=2
    ),
}


def told(call):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        value = call()
    return value, text.getvalue()


x, y = X.astype(np.float32), Y.astype(np.float32)
for name, optimizer in OPTIMIZERS.items():
    with strategy.scope():
        model = new_model(optimizer())
    alone = new_model(optimizer())
    options = {"batch_size": 6 * SIZE, "epochs": 2, "shuffle": False}
    history, text = told(lambda: model.fit(x, y, verbose=2, **options).history)
    expected = alone.fit(x, y, verbose=0, **options).history
    pairs = [(np.array(history[key]), np.array(expected[key])) for key in expected]
    found[name] = {
        "history": max(float(np.abs(a - b).max()) for a, b in pairs),
        "apart": apart(model.get_weights(), alone.get_weights()),
        "weights": digest(model.get_weights()),
        "evaluated": apart(
            [np.array(model.evaluate(x, y, batch_size=7, verbose=0))],
            [np.array(alone.evaluate(x, y, batch_size=7, verbose=0))],
        ),
        "predicted": apart(
            [model.predict(x, batch_size=7, verbose=0)],
            [alone.predict(x, batch_size=7, verbose=0)],
        ),
        "tells": bool(text),
    }

# Shuffled data, in arrays and in a Dataset: every sample is seen once.


class Seen(keras.Model):
    """A model that counts its training samples."""

    def __init__(self):
        super().__init__()
        self.w = self.add_weight(shape=(), initializer="ones")
        self.seen = []

    def call(self, inputs):
        return self.w * inputs

    def train_step(self, data):
        rows, _ = data
        self.seen += rows.numpy().ravel().tolist()
        return {"rows": tf.cast(tf.shape(rows)[0], tf.float32)}


def seen_of(*args, **options):
    with strategy.scope():
        counting = Seen()
        counting.compile("sgd", "mse", run_eagerly=True)
    history = counting.fit(*args, verbose=0, **options).history
    return counting.seen, history["rows"]


numbers = np.arange(20, dtype=np.float32)[:, None]
found["arrays"] = seen_of(numbers, numbers, batch_size=8)
shuffled = tf.data.Dataset.from_tensor_slices((numbers, numbers)).shuffle(20).batch(8)
found["dataset"] = seen_of(shuffled)

# A weight that each process would initialise itself gets the chief's value; seeds are random.

with strategy.scope():
    drawn = keras.layers.Dense(3)
    drawn.build([None, 4])
found["drawn"] = digest(drawn.get_weights())

# Batch counts are those of all processes; a callback that stops one process stops all.


class Watching(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])
        if len(self.losses) == 4 and RANK == SIZE - 1:
            self.model.stop_training = True


watching = Watching()
callbacks = [watching] if RANK == SIZE - 1 else []
told(lambda: model.fit(x, y, batch_size=6, epochs=3, shuffle=False, callbacks=callbacks))
found["watched"] = len(watching.losses)
found["stopped"] = bool(model.stop_training)

# The chief writes files, and all processes find them.

logs = folder / "logs"
model.fit(
    x,
    y,
    batch_size=12,
    verbose=0,
    callbacks=[
        keras.callbacks.ModelCheckpoint(str(folder / "best.keras")),
        keras.callbacks.TensorBoard(str(logs)),
        keras.callbacks.CSVLogger(str(folder / "log.csv")),
    ],
)
model.save(str(folder / "model.keras"))
tf.saved_model.save(model, str(folder / "saved"))
model.save_weights(str(folder / "w.weights.h5"))
with strategy.scope():
    metric = keras.metrics.Mean()
strategy.run(lambda: metric.update_state(float(RANK)))
manager = tf.train.CheckpointManager(
    tf.train.Checkpoint(model=model, metric=metric), str(folder / "checkpoints"), max_to_keep=1
)
for _ in range(2):
    latest = manager.save()
writer = tf.summary.create_file_writer(str(logs / "own"))
with writer.as_default(step=1):
    tf.summary.scalar("a", 1.0)
expected = model.predict(x, verbose=0)
loaded = [
    keras.models.load_model(str(folder / name)).predict(x, verbose=0)
    for name in ("best.keras", "model.keras")
]
served = tf.saved_model.load(str(folder / "saved")).signatures["serving_default"](tf.constant(x))
metric.reset_state()
tf.train.Checkpoint(metric=metric).restore(
    tf.train.latest_checkpoint(str(folder / "checkpoints"))
).expect_partial()
found["files"] = {
    "loaded": max(float(np.abs(one - expected).max()) for one in loaded),
    "served": float(np.abs(next(iter(served.values())).numpy() - expected).max()),
    "mean": float(metric.result()),
    "kept": [Path(one).name for one in manager.checkpoints],
}

# The optimizer wrapper of programs for TPUs.

with strategy.scope():
    v = tf.Variable(0.0)
crossing = tf.compat.v1.tpu.CrossShardOptimizer(tf.compat.v1.train.GradientDescentOptimizer(1.0))
strategy.run(lambda: crossing.apply_gradients([(tf.constant(float(RANK + 1)), v)]))
with strategy.scope():
    w = tf.Variable(0.0)
crossing = tf.compat.v1.tpu.CrossShardOptimizer(keras.optimizers.SGD(1.0))
strategy.run(lambda: crossing.apply_gradients([(tf.constant(float(RANK + 1)), w)]))
found["crossed"] = [float(v), float(w)]

# One buffer for all gradients of a step.

processes = strategy.extended._processes
with strategy.scope():
    model = new_model(keras.optimizers.SGD(0.05))
model.fit(x[:12], y[:12], batch_size=12, verbose=0)
before = processes.exchanges, processes.sent_bytes
strategy.run(
    tf.function(lambda: model.optimizer.apply([tf.ones_like(w) for w in model.trainable_variables]))
)
weights = sum(w.size for w in model.get_weights())
found["step"] = [processes.exchanges - before[0], processes.sent_bytes - before[1], weights * 4]
(folder / f"{RANK}.json").write_text(json.dumps(found))
