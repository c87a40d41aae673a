"""Training under a strategy, as JSON: the same program for both libraries."""

import importlib
import json
import sys

import numpy as np

tf = importlib.import_module(sys.argv[1])
keras, layers = tf.keras, tf.keras.layers
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(2)]
)
strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
rng = np.random.default_rng(0)
x = rng.standard_normal((37, 5)).astype("float32")
y = (x @ rng.standard_normal((5, 3)) + 0.1).astype("float32")
first = (rng.standard_normal((5, 8)) * 0.3).astype("float32")
last = (rng.standard_normal((8, 3)) * 0.3).astype("float32")
found = {}


def model(optimizer="adam", normalized=False, regularizer=None, **options):
    with strategy.scope():
        made = keras.Sequential(
            [keras.Input([5]), layers.Dense(8, "tanh", kernel_regularizer=regularizer)]
            + [layers.BatchNormalization(momentum=0.8)] * normalized
            + [layers.Dense(3)]
        )
        chosen = optimizer() if callable(optimizer) else optimizer
        made.compile(chosen, "mse", metrics=["mae"], **options)
    made.layers[0].kernel.assign(first)
    made.layers[-1].kernel.assign(last)
    return made


def note(name, made, history):
    found[name] = {
        "history": {key: [float(one) for one in history.history[key]] for key in history.history},
        "weights": [one.tolist() for one in made.get_weights()],
        "steps": int(made.optimizer.iterations.numpy()),
    }


def trained(name, made, *data, **options):
    note(name, made, made.fit(*data, epochs=3, shuffle=False, verbose=0, **options))


checked = (x[:12], y[:12])
for normalized in (False, True):
    made = model(normalized=normalized)
    trained(f"fit {normalized}", made, x, y, batch_size=8, validation_data=checked)
    found[f"evaluate {normalized}"] = made.evaluate(x, y, batch_size=8, verbose=0)
    found[f"predict {normalized}"] = made.predict(x, batch_size=8, verbose=0).tolist()
optimizers = keras.optimizers
decay = optimizers.schedules.ExponentialDecay(0.01, 2, 0.5)
chosen = {
    "clipped SGD": lambda: optimizers.SGD(0.1, momentum=0.9, clipnorm=0.5),
    "AdamW": lambda: optimizers.AdamW(0.01, weight_decay=0.1),
    "averages": lambda: optimizers.Adam(0.01, use_ema=True),
    "schedule": lambda: optimizers.RMSprop(decay),
    "loss scale": lambda: optimizers.LossScaleOptimizer(
        optimizers.SGD(0.05, clipnorm=1.0), initial_scale=2.0**10, dynamic_growth_steps=3
    ),
}
for name, optimizer in chosen.items():
    trained(name, model(optimizer, regularizer="l2"), x[:32], y[:32], batch_size=8)
made = model()
found["one batch"] = [
    [float(one) for one in made.train_on_batch(x[:8], y[:8])],
    [float(one) for one in made.test_on_batch(x[:8], y[:8])],
]
batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
trained("a dataset", model("sgd"), batches)
distributed = strategy.experimental_distribute_dataset(batches.repeat())
trained("a distributed dataset", model("sgd"), distributed, steps_per_epoch=3)
trained("eagerly", model("sgd", run_eagerly=True), x[:16], y[:16], batch_size=8)

with strategy.scope():
    given = keras.Input([4], dtype="int32")
    table = layers.Embedding(10, 6, embeddings_initializer="ones")
    out = layers.Dense(1, kernel_initializer="ones")(layers.Flatten()(table(given)))
    made = keras.Model(given, out)
    made.compile(optimizers.Adagrad(0.1), "mse")
numbers = rng.integers(0, 10, (16, 4)).astype("int32")
trained("an embedding", made, numbers, np.arange(16.0)[:, None], batch_size=4)

with strategy.scope():
    given = keras.Input([5])
    heads = [layers.Dense(n, kernel_initializer="ones", name=f"head{n}")(given) for n in (1, 2)]
    made = keras.Model(given, heads)
    made.compile("sgd", ["mse", "mae"], metrics=[["mae"], ["mse"]])
trained("two outputs", made, x, [y[:, :1], y[:, :2]], batch_size=8)

with strategy.scope():
    dense = layers.Dense(1, "sigmoid", kernel_initializer="ones")
    made = keras.Sequential([keras.Input([5]), dense])
    counted = [keras.metrics.AUC(num_thresholds=50), keras.metrics.Precision()]
    made.compile("sgd", "binary_crossentropy", metrics=["accuracy", *counted])
weights = np.linspace(0.1, 2, 37).astype("float32")
above = (y[:, :1] > 0).astype("float32")
trained("counts and weights", made, x, above, batch_size=8, sample_weight=weights)

# A custom loop, as in the tutorial.
with strategy.scope():
    made = keras.Sequential([keras.Input([5]), layers.Dense(3, kernel_initializer="ones")])
    optimizer = optimizers.Adam(0.05)
    loss_of = keras.losses.MeanSquaredError(reduction="none")
    seen = keras.metrics.Mean(name="seen")
    # TensorFlow does not support slots that are created in a traced step of replicas.
    optimizer.build(made.trainable_variables)


def step(batch):
    inputs, truth = batch
    with tf.GradientTape() as tape:
        losses = loss_of(truth, made(inputs, training=True))
        loss = tf.nn.compute_average_loss(losses, global_batch_size=8)
    gradients = tape.gradient(loss, made.trainable_variables)
    optimizer.apply_gradients(zip(gradients, made.trainable_variables))
    seen.update_state(losses)
    return loss


@tf.function
def train_step(batch):
    losses = strategy.run(step, args=(batch,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


losses = []
for _ in range(3):
    for batch in strategy.experimental_distribute_dataset(batches):
        losses.append(float(train_step(batch)))
found["own loop"] = [losses, float(seen.result()), [one.tolist() for one in made.get_weights()]]
print(json.dumps(found))
