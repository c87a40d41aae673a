"""The statements and programs of the article "RevNet with eager execution", claim by claim."""

import importlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import pinnace as tf
from architecture.sources import ROOT

AXES = {"channels_first": 1, "channels_last": 3}
FORMATS = pytest.mark.parametrize("data_format", AXES)


@pytest.fixture(scope="module")
def revnet():
    """The programs of examples/revnet, which import each other by name."""
    folder = str(ROOT / "examples" / "revnet")
    sys.path.insert(0, folder)
    try:
        yield importlib.import_module("revnet")
    finally:
        sys.path.remove(folder)


@pytest.fixture(scope="module")
def records(revnet):
    del revnet  # the path
    return importlib.import_module("records")


@pytest.fixture(scope="module")
def files(records, tmp_path_factory) -> tuple[str, str]:
    return records.write_records(tmp_path_factory.mktemp("records"))


def images(data_format: str, dtype="float64", count=4):
    tf.random.set_seed(0)
    shape = (count, 3, 8, 8) if data_format == "channels_first" else (count, 8, 8, 3)
    return tf.random.normal(shape, dtype=dtype), tf.constant(np.arange(count) % 10)


# Building and differentiating.


@FORMATS
def test_the_published_check_of_the_gradients(revnet, data_format: str) -> None:
    tf.keras.utils.set_random_seed(0)
    axis = AXES[data_format]
    block = revnet.Residual(4, axis=axis, dtype="float64")
    shape = (2, 8, 6, 6) if axis == 1 else (2, 6, 6, 8)
    x = tf.random.normal(shape=shape, dtype=tf.float64)
    dy = tf.random.normal(shape=shape, dtype=tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = block(x)
    # Compute true grads
    dx_true, *grads_true = tape.gradient(y, [x, *block.trainable_variables], output_gradients=dy)
    # Compute grads from reconstruction
    halves = [tf.split(value, num_or_size_splits=2, axis=axis) for value in (y, dy)]
    x_again, dx, grads = block.backward_grads(*halves)
    # Check whether the difference is below a certain threshold
    thres = 1e-6
    pairs = [(tf.concat(dx, axis), dx_true), (tf.concat(x_again, axis), x)]
    for found, true in [*pairs, *zip(grads, grads_true, strict=True)]:
        diff_abs = tf.reshape(abs(found - true), [-1])
        assert all(diff_abs < thres)


@FORMATS
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_network_has_the_gradients_of_ordinary_backprop(
    revnet, data_format: str, dtype: str
) -> None:
    tf.keras.utils.set_random_seed(0)
    x, labels = images(data_format, dtype)
    model = revnet.RevNet(revnet.Hyperparameters((4, 8), 3, data_format=data_format, dtype=dtype))
    _, saved_hidden = model(x, training=True)
    grads, loss = model.compute_gradients(saved_hidden, labels, training=True)
    true, true_loss = model.plain_gradients(x, labels, training=True)
    assert float(loss) == pytest.approx(float(true_loss), abs=1e-6)
    assert len(grads) == len(model.trainable_variables)
    for found, wanted in zip(grads, true, strict=True):
        assert all(tf.reshape(abs(found - wanted), [-1]) < 1e-6)


def test_calling_the_tape_with_output_gradients_applies_the_chain_rule() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    dx = tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0, 100.0]))
    np.testing.assert_array_equal(dx, [2.0, 40.0, 600.0])


def test_running_averages_follow_while_training_only(revnet) -> None:
    block = revnet.Residual(2)
    x = tf.random.normal((2, 4, 4, 4)) + 3.0
    block(x, training=False)
    averages = block.f.norms[0].moving_mean
    before = averages.numpy()
    block(x, training=False)
    np.testing.assert_array_equal(averages, before)
    block(x, training=True)
    assert np.all(averages.numpy() != before)


def test_get_updates_for_has_nothing_to_fetch_since_updates_happen_in_order(revnet) -> None:
    block = revnet.Residual(2)
    x = tf.random.normal((2, 4, 4, 4)) + 3.0
    block(x)
    moving_mean = block.f.norms[0].moving_mean

    @tf.function
    def step(x):
        y = block(x, training=True)
        with tf.control_dependencies(block.get_updates_for(x)):
            return tf.reduce_sum(y)

    before = moving_mean.numpy()
    step(x)
    assert np.all(moving_mean.numpy() != before)


@pytest.mark.parametrize("how", ["eager", "function"])
def test_memory_grows_with_depth_for_plain_backprop_only(how: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "reference" / "revnet_memory.py", how],
        env={**os.environ, "PINNACE_TIER": "plan"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shallow, deep = json.loads(done.stdout)
    # Four times as deep: the activations of six more blocks, or none (weights are small here).
    assert deep[0] < 1.15 * shallow[0]
    assert deep[1] > 2.3 * shallow[1]
    assert deep[0] < 0.5 * deep[1]


# Checkpoints, functions, records.


def trained(revnet, records, files, steps, functions, checkpoint=None):
    """Train; returns the losses, the model, and the checkpoint's object."""
    tf.keras.utils.set_random_seed(0)
    model = revnet.RevNet(revnet.Hyperparameters((4, 8), 1))
    learning_rate = tf.Variable(0.05, trainable=False)
    optimizer = tf.keras.optimizers.SGD(learning_rate=learning_rate.value, momentum=0.9)
    global_step = tf.Variable(0, dtype=tf.int64, trainable=False)

    def apply_gradients(optimizer, gradients, variables, global_step=None):
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        global_step.assign_add(1)

    if functions:
        model.call = tf.function(model.call)
        model.compute_gradients = tf.function(model.compute_gradients)
        apply_gradients = tf.function(apply_gradients)
    saved = tf.train.Checkpoint(
        model=model, optimizer=optimizer, learning_rate=learning_rate, global_step=global_step
    )
    if checkpoint is not None:
        saved.restore(checkpoint)
    dataset = tf.data.TFRecordDataset(files[0])
    dataset = dataset.repeat(2).map(records.parser, num_parallel_calls=2).batch(16).prefetch(2)
    losses = []
    for image, label in dataset.skip(int(global_step)).take(steps):
        _, saved_hidden = model(image, training=True)
        grads, loss = model.compute_gradients(saved_hidden, label, training=True)
        apply_gradients(optimizer, grads, model.trainable_variables, global_step)
        losses.append(float(loss))
    return losses, model, saved


def test_the_three_parts_as_functions_train_as_eagerly(revnet, records, files) -> None:
    eager, _, _ = trained(revnet, records, files, 6, functions=False)
    traced, _, _ = trained(revnet, records, files, 6, functions=True)
    # float32 over six steps; sums in another order.
    np.testing.assert_allclose(traced, eager, rtol=1e-3)
    assert len(set(eager)) == 6


def test_model_optimizer_learning_rate_and_step_are_checkpointed(
    revnet, records, files, tmp_path
) -> None:
    losses, _, whole = trained(revnet, records, files, 6, functions=False)
    _, _, half = trained(revnet, records, files, 3, functions=False)
    half.learning_rate.assign(0.05)
    path = half.save(str(tmp_path / "revnet"))
    again, _, rest = trained(revnet, records, files, 3, functions=False, checkpoint=path)
    assert int(rest.global_step) == int(whole.global_step) == 6
    # The same operations on the same numbers.
    np.testing.assert_allclose(again, losses[3:], rtol=1e-5)


def test_records_are_read_repeated_parsed_and_batched(records, files) -> None:
    dataset = tf.data.TFRecordDataset(files[1])
    dataset = dataset.repeat(2).map(records.parser).batch(100)
    sizes, seen = [], []
    for image, label in dataset:
        sizes.append(int(image.shape[0]))
        seen += label.numpy().tolist()
        assert image.shape[1:] == (8, 8, 1)
    assert sizes == [100] * 7 + [20]
    assert seen[:360] == seen[360:]


# Estimators.


def published_model_fn(revnet, learning_rate=0.05, momentum=0.9, wrap=lambda optimizer: optimizer):
    """The model function as in the article, with the optimizer's current name."""

    def model_fn(features, labels, mode, params):
        model = revnet.RevNet(params["hyperparameters"])
        if mode == tf.estimator.ModeKeys.TRAIN:
            optimizer = wrap(tf.compat.v1.train.MomentumOptimizer(learning_rate, momentum))
            logits, saved_hidden = model(features, training=True)
            grads, loss = model.compute_gradients(saved_hidden, labels, training=True)
            with tf.control_dependencies(model.get_updates_for(features)):
                train_op = optimizer.apply_gradients(
                    zip(grads, model.trainable_variables, strict=True)
                )
            return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train_op)
        logits, _ = model(features, training=False)
        loss = revnet.cross_entropy(logits, labels)
        return tf.estimator.EstimatorSpec(mode=mode, loss=loss, predictions=logits)

    return model_fn


def weights_after(estimator, records, files, steps) -> dict[str, np.ndarray]:
    estimator.train(lambda: records.read(files[0], 16, -1), steps=steps)
    names = estimator.get_variable_names()
    return {name: estimator.get_variable_value(name) for name in names}


def test_the_published_model_fn_trains_in_an_estimator(revnet, records, files, tmp_path) -> None:
    params = {"hyperparameters": revnet.Hyperparameters((4, 8), 1)}
    config = tf.estimator.RunConfig(tf_random_seed=1)
    estimator = tf.estimator.Estimator(published_model_fn(revnet), str(tmp_path), config, params)
    weights_after(estimator, records, files, 4)
    first = estimator.evaluate(lambda: records.read(files[0], 120))
    estimator.train(lambda: records.read(files[0], 16, -1), steps=60)
    last = estimator.evaluate(lambda: records.read(files[0], 120))
    assert (first["global_step"], last["global_step"]) == (4, 64)
    assert last["loss"] < first["loss"]


def test_a_tpu_estimator_with_cross_shards_trains_the_same_on_the_processor(
    revnet, records, files, tmp_path
) -> None:
    params = {"hyperparameters": revnet.Hyperparameters((4, 8), 1)}
    plain = tf.estimator.Estimator(
        published_model_fn(revnet),
        str(tmp_path / "plain"),
        tf.estimator.RunConfig(tf_random_seed=1),
        params,
    )
    tpu = tf.compat.v1.estimator.tpu
    shards = tpu.TPUEstimator(
        published_model_fn(revnet, wrap=tf.compat.v1.tpu.CrossShardOptimizer),
        str(tmp_path / "tpu"),
        tpu.RunConfig(tf_random_seed=1, tpu_config=tpu.TPUConfig(iterations_per_loop=1)),
        params,
        use_tpu=False,
        train_batch_size=16,
    )
    expected = weights_after(plain, records, files, 3)
    found = weights_after(shards, records, files, 3)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        # Kernels sum in another order than the plan: over three steps, sums of some hundred terms
        # change by a few units in the last place of the largest ones.
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_the_published_random_normal_is_there() -> None:
    x = tf.compat.v1.random_normal(shape=(2, 3, 4, 4))
    assert x.shape == (2, 3, 4, 4)
    assert float(tf.math.reduce_std(x)) > 0
