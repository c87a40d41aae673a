"""Estimators against the same training written in NumPy or with a tape."""

import logging
import warnings
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf

ModeKeys = tf.estimator.ModeKeys
train = tf.compat.v1.train
_random = np.random.default_rng(0)
X = _random.standard_normal((64, 3)).astype(np.float32)
Y = X @ np.array([[1.0], [2.0], [-1.0]], np.float32)
RATE, MOMENTUM = 0.05, 0.9


def batches(size=16, repeat=-1, features=lambda x: {"x": x}):
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).repeat(repeat).batch(size)
    return lambda: dataset.map(lambda x, y: (features(x), y))


def model_fn(features, labels, mode, params):
    """A linear model with weights initialised to zero."""
    dense = tf.keras.layers.Dense(1, kernel_initializer="zeros")
    y = dense(features["x"])
    if mode == ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y, "twice": 2 * y})
    loss = tf.reduce_mean((y - labels) ** 2)
    if mode == ModeKeys.EVAL:
        error = tf.keras.metrics.MeanAbsoluteError()
        error.update_state(labels, y)
        pair = (tf.zeros([]), tf.reduce_max(y))
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, eval_metric_ops={"error": error, "last": pair}
        )
    optimizer = params["optimizer"]()
    train_op = optimizer.minimize(loss, train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def momentum():
    return train.MomentumOptimizer(RATE, MOMENTUM)


def estimator(folder, optimizer=momentum, **config):
    return tf.estimator.Estimator(
        model_fn, str(folder), tf.estimator.RunConfig(**config), {"optimizer": optimizer}
    )


def line_by_hand(steps, size=16):
    """Kernel and bias after this many momentum steps, in float64."""
    w, b = np.zeros((3, 1)), np.zeros(1)
    moved_w, moved_b = np.zeros((3, 1)), np.zeros(1)
    for step in range(steps):
        rows = np.arange(step * size, (step + 1) * size) % len(X)
        x, y = X[rows].astype(np.float64), Y[rows]
        error = 2 * (x @ w + b - y) / size
        moved_w = MOMENTUM * moved_w + x.T @ error
        moved_b = MOMENTUM * moved_b + error.sum(0)
        w, b = w - RATE * moved_w, b - RATE * moved_b
    return w, b


def check_line(found, steps) -> None:
    w, b = line_by_hand(steps)
    # float32 against float64 over tens of steps.
    np.testing.assert_allclose(found.get_variable_value("dense/kernel"), w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.get_variable_value("dense/bias"), b, rtol=1e-4, atol=1e-5)


def test_training_is_the_formula(tmp_path) -> None:
    found = estimator(tmp_path)
    assert found.train(batches(), steps=30) is found
    check_line(found, 30)
    assert found.get_variable_value("global_step") == 30
    assert found.get_variable_names() == [
        "dense/bias",
        "dense/bias/Momentum",
        "dense/kernel",
        "dense/kernel/Momentum",
        "global_step",
    ]


def test_training_resumes_from_the_folder(tmp_path) -> None:
    estimator(tmp_path).train(batches(), steps=8)
    # 8 steps of 16 rows are complete passes: the next batch is the first one again.
    found = estimator(tmp_path).train(batches(), max_steps=20)
    check_line(found, 20)
    before = found.latest_checkpoint()
    found.train(batches(), max_steps=20)
    assert found.latest_checkpoint() == before


def test_training_ends_with_the_batches(tmp_path) -> None:
    found = estimator(tmp_path).train(batches(repeat=2))
    assert found.get_variable_value("global_step") == 8


@pytest.mark.parametrize(
    "optimizer", [lambda: train.GradientDescentOptimizer(0.1), lambda: train.AdamOptimizer(0.1)]
)
def test_other_optimizers_learn_and_resume(tmp_path, optimizer) -> None:
    whole = estimator(tmp_path / "whole", optimizer).train(batches(), steps=12)
    parts = estimator(tmp_path / "parts", optimizer)
    parts.train(batches(), steps=4).train(batches(), steps=8)
    names = whole.get_variable_names()
    assert parts.get_variable_names() == names
    for name in names:
        np.testing.assert_array_equal(
            parts.get_variable_value(name), whole.get_variable_value(name), err_msg=name
        )
    first = tf.reduce_mean(Y**2)
    assert whole.evaluate(batches(repeat=1))["loss"] < first


def test_adam_is_kingma_and_ba(tmp_path) -> None:
    del tmp_path
    x = tf.Variable(np.array([1.0, -2.0]), dtype=tf.float64)
    optimizer = train.AdamOptimizer(0.1)
    w, m, v = np.array([1.0, -2.0]), np.zeros(2), np.zeros(2)
    step = tf.Variable(0, dtype=tf.int64)
    for t in range(1, 6):
        optimizer.minimize(lambda: tf.reduce_sum(x**2), step, [x])
        g = 2 * w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
    # The powers of beta are float32.
    np.testing.assert_allclose(x.numpy(), w, rtol=1e-4)
    assert int(step) == 5


def test_a_keras_optimizer_that_counts_for_itself_trains_too(tmp_path) -> None:
    def keras_model_fn(features, labels, mode):
        dense = tf.keras.layers.Dense(1, kernel_initializer="zeros")
        optimizer = tf.keras.optimizers.SGD(0.05)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((dense(features) - labels) ** 2)
        gradients = tape.gradient(loss, dense.trainable_variables)
        train_op = optimizer.apply_gradients(zip(gradients, dense.trainable_variables, strict=True))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    found = tf.estimator.Estimator(keras_model_fn, str(tmp_path))
    found.train(batches(features=lambda x: x), steps=5)
    found.train(batches(features=lambda x: x), max_steps=9)
    assert found.get_variable_value("global_step") == 9
    assert found.get_variable_value("sgd/iteration") == 9


def test_evaluation_is_over_all_batches(tmp_path) -> None:
    found = estimator(tmp_path)
    found.train(batches(), steps=10)
    result = found.evaluate(batches(size=16, repeat=1))
    w, b = (found.get_variable_value(f"dense/{name}") for name in ("kernel", "bias"))
    y = X @ w + b
    assert result["loss"] == pytest.approx(np.mean((y - Y) ** 2), rel=1e-5)
    assert result["error"] == pytest.approx(np.mean(np.abs(y - Y)), rel=1e-5)
    assert result["last"] == pytest.approx(np.max(y[48:]), rel=1e-5)
    assert result["global_step"] == 10
    part = found.evaluate(batches(size=16, repeat=1), steps=2)
    assert part["loss"] == pytest.approx(np.mean((y - Y)[:32] ** 2), rel=1e-5)


def test_an_older_checkpoint_can_be_evaluated(tmp_path) -> None:
    found = estimator(tmp_path, save_checkpoints_steps=5)
    found.train(batches(), steps=10)
    path = str(tmp_path / "model.ckpt-5")
    assert found.evaluate(batches(repeat=1), checkpoint_path=path)["global_step"] == 5


def test_checkpoints_are_written_and_deleted_as_configured(tmp_path) -> None:
    estimator(tmp_path, save_checkpoints_steps=4, keep_checkpoint_max=2).train(batches(), steps=10)
    numbers = sorted(int(p.stem.split("-")[1]) for p in tmp_path.glob("model.ckpt-*.index"))
    assert numbers == [8, 10]
    assert tf.train.latest_checkpoint(tmp_path).endswith("model.ckpt-10")


def test_predictions_come_one_by_one_or_in_batches(tmp_path) -> None:
    found = estimator(tmp_path).train(batches(), steps=5)
    w, b = (found.get_variable_value(f"dense/{name}") for name in ("kernel", "bias"))
    single = list(found.predict(batches(repeat=1), predict_keys="y"))
    assert [set(one) for one in single] == [{"y"}] * 64
    np.testing.assert_allclose([one["y"] for one in single], X @ w + b, rtol=1e-5, atol=1e-6)
    whole = list(found.predict(batches(size=24, repeat=1), yield_single_examples=False))
    assert [len(one["twice"]) for one in whole] == [24, 24, 16]


def test_an_untrained_model_can_be_evaluated(tmp_path) -> None:
    result = estimator(tmp_path).evaluate(batches(repeat=1))
    assert result["loss"] == pytest.approx(np.mean(Y**2), rel=1e-5)
    assert result["global_step"] == 0


def test_hooks_see_values_and_stop(tmp_path) -> None:
    class Seeing(tf.estimator.SessionRunHook):
        def begin(self):
            self.moments = ["begin"]
            self.step = train.get_global_step()

        def before_run(self, run_context):
            assert not run_context.stop_requested
            return tf.estimator.SessionRunArgs(
                {"loss": run_context.original_args.fetches, "step": self.step}
            )

        def after_run(self, run_context, run_values):
            assert not run_context.stop_requested
            self.moments.append((int(run_values.results["step"]), run_values.results["loss"]))

        def end(self, session):
            assert session is None
            self.moments.append("end")

    seeing = Seeing()
    found = estimator(tmp_path)
    found.train(batches(), hooks=[seeing, tf.estimator.StopAtStepHook(num_steps=3)])
    begin, *steps, end = seeing.moments
    assert (begin, end) == ("begin", "end")
    assert [step for step, _ in steps] == [1, 2, 3]
    assert steps[0][1] == pytest.approx(np.mean(Y[:16] ** 2), rel=1e-5)
    assert found.get_variable_value("global_step") == 3


def test_tensors_of_the_model_function_are_logged(tmp_path, caplog) -> None:
    def logging_model_fn(features, labels, mode):
        dense = tf.keras.layers.Dense(1, kernel_initializer="zeros")
        loss = tf.reduce_mean((dense(features["x"]) - labels) ** 2)
        train_op = train.GradientDescentOptimizer(0.0).minimize(loss, train.get_global_step())
        hook = tf.estimator.LoggingTensorHook({"root": tf.sqrt(loss)}, every_n_iter=2)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=[hook])

    found = tf.estimator.Estimator(logging_model_fn, str(tmp_path))
    with caplog.at_level(logging.INFO, "pinnace"):
        found.train(batches(size=64), steps=5)
    lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("root = ")]
    assert len(lines) == 3
    assert float(lines[0].removeprefix("root = ")) == pytest.approx(
        np.sqrt(np.mean(Y**2)), rel=1e-4
    )


def test_one_batch_comes_again_and_again(tmp_path) -> None:
    found = estimator(tmp_path).train(lambda: ({"x": X[:16]}, Y[:16]), steps=3)
    assert found.get_variable_value("global_step") == 3
    with pytest.raises(ValueError, match="repeated forever"):
        found.train(lambda: ({"x": X[:16]}, Y[:16]))


def test_the_input_function_is_told_what_it_asks_for(tmp_path) -> None:
    seen = {}

    def input_fn(mode, params, config):
        seen.update(mode=mode, params=params, config=config)
        return batches(repeat=1)()

    found = estimator(tmp_path)
    found.train(input_fn, steps=1)
    assert seen["mode"] == ModeKeys.TRAIN
    assert seen["params"]["optimizer"] is momentum
    assert seen["config"].model_dir == str(tmp_path)


def test_training_and_evaluation_alternate(tmp_path) -> None:
    receiver_fn = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"x": tf.TensorSpec([None, 3], tf.float32)}
    )
    steps = []

    class Exporter(tf.estimator.LatestExporter):
        def export(self, estimator, export_path, checkpoint_path, eval_result, is_final):
            steps.append((int(eval_result["global_step"]), is_final))
            return super().export(estimator, export_path, checkpoint_path, eval_result, is_final)

    found = estimator(tmp_path, save_checkpoints_steps=4)
    result, exports = tf.estimator.train_and_evaluate(
        found,
        tf.estimator.TrainSpec(batches(), max_steps=12),
        tf.estimator.EvalSpec(batches(repeat=1), steps=None, exporters=Exporter("x", receiver_fn)),
    )
    assert steps == [(4, False), (8, False), (12, True)]
    assert result["global_step"] == 12
    assert len(exports) == 3
    check_line(found, 12)


def test_an_exported_model_predicts_what_the_estimator_predicts(tmp_path) -> None:
    found = estimator(tmp_path / "model").train(batches(), steps=5)
    receiver_fn = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.constant(X)})
    extra = tmp_path / "words.txt"
    extra.write_text("words")
    path = found.export_saved_model(
        tmp_path / "export", receiver_fn, assets_extra={"a/words.txt": str(extra)}
    ).decode()
    expected = np.array([one["y"] for one in found.predict(batches(repeat=1))])
    serve = tf.saved_model.load(path).signatures["serving_default"]
    np.testing.assert_allclose(serve(x=tf.constant(X))["y"], expected, rtol=1e-6)
    assert list((tmp_path / "export").iterdir()) == [Path(path)]
    assert Path(path, "assets.extra", "a", "words.txt").read_text() == "words"


def test_a_receiver_may_compute_features_and_signatures_have_names(tmp_path) -> None:
    def served_model_fn(features, labels, mode):
        dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
        y = dense(features)
        export = tf.estimator.export
        if mode == ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(
                mode,
                predictions=y,
                export_outputs={
                    "serving_default": export.PredictOutput(y),
                    "classes": export.ClassificationOutput(scores=tf.sigmoid(y)),
                    "values": export.RegressionOutput(y),
                },
            )
        loss = tf.reduce_mean((y - labels) ** 2)
        train_op = train.GradientDescentOptimizer(0.0).minimize(loss, train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    found = tf.estimator.Estimator(served_model_fn, str(tmp_path / "model"))
    found.train(batches(features=lambda x: x), steps=1)

    def receive():
        halves = tf.compat.v1.placeholder(tf.float32, [None, 3], "halves")
        return tf.estimator.export.ServingInputReceiver(2 * halves, halves)

    path = found.export_saved_model(tmp_path / "export", receive).decode()
    signatures = tf.saved_model.load(path).signatures
    assert set(signatures) == {"serving_default", "classes", "values"}
    y = X.sum(1, keepdims=True)
    x = tf.constant(X / 2)
    (plain,) = signatures["serving_default"](input=x).values()
    np.testing.assert_allclose(plain, y, rtol=1e-4, atol=1e-5)
    (scores,) = signatures["classes"](input=x).values()
    np.testing.assert_allclose(scores, 1 / (1 + np.exp(-y)), rtol=1e-4)
    assert set(signatures["values"](input=x)) == {"outputs"}


def test_serialised_examples_are_parsed(tmp_path) -> None:
    found = estimator(tmp_path / "model").train(batches(), steps=1)
    receiver_fn = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        {"x": tf.io.FixedLenFeature([3], tf.float32)}
    )
    path = found.export_saved_model(tmp_path / "export", receiver_fn).decode()
    rows = [
        tf.train.Example(
            features=tf.train.Features(
                feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=row))}
            )
        ).SerializeToString()
        for row in X[:4]
    ]
    y = tf.saved_model.load(path).signatures["serving_default"](examples=tf.constant(rows))["y"]
    expected = [one["y"] for one in found.predict(batches(repeat=1))][:4]
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_warm_start_takes_values_by_name(tmp_path) -> None:
    first = estimator(tmp_path / "first").train(batches(), steps=5)
    second = tf.estimator.Estimator(
        model_fn,
        str(tmp_path / "second"),
        params={"optimizer": lambda: train.GradientDescentOptimizer(0.0)},
        warm_start_from=first.model_dir,
    )
    second.train(batches(), steps=1)
    for name in ("dense/kernel", "dense/bias"):
        np.testing.assert_array_equal(
            second.get_variable_value(name), first.get_variable_value(name)
        )


def test_a_seed_makes_the_same_model(tmp_path) -> None:
    def random_model_fn(features, labels, mode):
        y = tf.keras.layers.Dense(1)(tf.keras.layers.Dense(4)(features))
        loss = tf.reduce_mean((y - labels) ** 2)
        train_op = train.GradientDescentOptimizer(0.1).minimize(loss, train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    kernels = []
    for name in ("a", "b"):
        config = tf.estimator.RunConfig(tf_random_seed=3)
        found = tf.estimator.Estimator(random_model_fn, str(tmp_path / name), config)
        found.train(batches(features=lambda x: x), steps=2)
        kernels.append(found.get_variable_value("dense_1/kernel"))
    np.testing.assert_array_equal(*kernels)
    assert np.ptp(kernels[0]) > 0


def test_the_loss_is_written_for_tensorboard(tmp_path) -> None:
    from pinnace.proto.event_pb2 import Event

    found = estimator(tmp_path, save_summary_steps=2).train(batches(), steps=5)
    found.evaluate(batches(repeat=1))

    def written(folder) -> set:
        events = [
            Event.FromString(r.numpy())
            for file in folder.glob("events*")
            for r in tf.data.TFRecordDataset(str(file))
        ]
        return {(v.tag, e.step) for e in events for v in e.summary.value}

    assert {("loss", 1), ("loss", 3), ("loss", 5)} <= written(tmp_path)
    assert {("loss", 5), ("error", 5)} <= written(tmp_path / "eval")


# TPUs.

tpu = tf.compat.v1.estimator.tpu


def tpu_model_fn(features, labels, mode, params):
    assert params["batch_size"] in {8, 16}
    dense = tf.keras.layers.Dense(1, kernel_initializer="zeros")
    y = dense(features)
    loss = tf.reduce_mean((y - labels) ** 2)

    def metric_fn(y, labels):
        error = tf.keras.metrics.MeanSquaredError()
        error.update_state(labels, y)
        return {"error": error}

    train_op = None
    if mode == ModeKeys.TRAIN:
        optimizer = tf.compat.v1.tpu.CrossShardOptimizer(momentum())
        train_op = optimizer.minimize(loss, global_step=train.get_global_step())
    return tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, eval_metrics=(metric_fn, {"y": y, "labels": labels})
    )


def tpu_estimator(folder, **options):
    return tpu.TPUEstimator(
        tpu_model_fn, str(folder), use_tpu=False, train_batch_size=16, eval_batch_size=8, **options
    )


def test_a_tpu_estimator_trains_on_the_processor(tmp_path) -> None:
    sizes = []

    def input_fn(params):
        sizes.append(params["batch_size"])
        return batches(params["batch_size"], -1, lambda x: x)()

    found = tpu_estimator(tmp_path)
    found.train(input_fn, steps=12)
    check_line(found, 12)
    result = found.evaluate(input_fn, steps=8)
    assert sizes == [16, 8]
    assert result["error"] == pytest.approx(result["loss"], rel=1e-5)


def test_the_names_of_contrib_are_those_of_the_estimator() -> None:
    names = ("TPUEstimator", "TPUEstimatorSpec", "TPUConfig", "RunConfig", "InputPipelineConfig")
    for name in names:
        assert getattr(tf.compat.v1.tpu, name) is getattr(tpu, name)


def test_there_are_no_tpus(tmp_path) -> None:
    with pytest.raises(NotImplementedError, match="use_tpu=False"):
        tpu.TPUEstimator(tpu_model_fn, str(tmp_path), train_batch_size=8)
    with pytest.raises(ValueError, match="batch_size"):
        tpu.TPUEstimator(model_fn, str(tmp_path), params={"batch_size": 4}, use_tpu=False)


# Refusals.


def test_specs_say_what_is_missing() -> None:
    for mode, name in ((ModeKeys.TRAIN, "loss"), (ModeKeys.EVAL, "loss"), ("infer", "predictions")):
        with pytest.raises(ValueError, match=f"{name} must be given in mode '{mode}'"):
            tf.estimator.EstimatorSpec(mode)
    with pytest.raises(ValueError, match="train_op must be given"):
        tf.estimator.EstimatorSpec(ModeKeys.TRAIN, loss=tf.constant(1.0))
    with pytest.raises(ValueError, match="mode must be one of"):
        tf.estimator.EstimatorSpec("test")
    with pytest.raises(ValueError, match=r"scalar, got shape \[3\]"):
        tf.estimator.EstimatorSpec(ModeKeys.EVAL, loss=tf.zeros([3]))
    with pytest.raises(TypeError, match="a metric or a pair"):
        tf.estimator.EstimatorSpec(
            ModeKeys.EVAL, loss=tf.constant(1.0), eval_metric_ops={"m": tf.constant(1.0)}
        )


def test_configs_are_checked() -> None:
    with pytest.raises(ValueError, match="only one of save_checkpoints_steps"):
        tf.estimator.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1)
    with pytest.raises(ValueError, match="above 0"):
        tf.estimator.RunConfig(save_checkpoints_steps=0)
    with pytest.raises(ValueError, match="unknown fields x"):
        tf.estimator.RunConfig().replace(x=1)
    with pytest.raises(NotImplementedError, match="one replica"):
        tf.estimator.RunConfig(train_distribute=object())
    config = tf.estimator.RunConfig().replace(save_checkpoints_steps=3)
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (3, None)


def test_model_functions_are_checked(tmp_path) -> None:
    with pytest.raises(ValueError, match="must take features"):
        tf.estimator.Estimator(lambda x: x, str(tmp_path))
    with pytest.raises(ValueError, match="takes no params"):
        tf.estimator.Estimator(lambda features: features, str(tmp_path), params={"a": 1})
    with pytest.raises(TypeError, match="must be a function"):
        tf.estimator.Estimator(3, str(tmp_path))
    found = tf.estimator.Estimator(lambda features: len(features) * [3], str(tmp_path))
    with pytest.raises(TypeError, match="must return an EstimatorSpec, got list"):
        found.train(lambda: X, steps=1)
    with pytest.raises(ValueError, match="takes no labels"):
        found.train(lambda: (X, Y), steps=1)


def test_steps_are_checked(tmp_path) -> None:
    found = estimator(tmp_path)
    with pytest.raises(ValueError, match="only one of steps and max_steps"):
        found.train(batches(), steps=1, max_steps=1)
    with pytest.raises(ValueError, match="steps must be above 0, got 0"):
        found.train(batches(), steps=0)
    with pytest.raises(ValueError, match="gave no batch"):
        found.evaluate(lambda: batches(repeat=1)().take(0))


def test_a_checkpoint_of_another_model_is_refused(tmp_path) -> None:
    estimator(tmp_path).train(batches(), steps=1)

    def other_model_fn(features, labels, mode):
        del labels
        y = tf.keras.layers.Dense(2, name="other")(features["x"])
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_mean(y), predictions=y)

    found = tf.estimator.Estimator(other_model_fn, str(tmp_path))
    with pytest.raises(tf.errors.NotFoundError, match=r"has no other/bias, other/kernel"):
        found.evaluate(batches(repeat=1))


def test_a_loss_that_is_no_number_stops_training(tmp_path) -> None:
    found = estimator(tmp_path, lambda: train.GradientDescentOptimizer(1e20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(tf.estimator.NanLossDuringTrainingError, match="NaN at step"):
            found.train(batches(), steps=50)


def test_an_optimizer_outside_of_a_model_function_wants_a_function() -> None:
    with pytest.raises(RuntimeError, match="loss must be a function"):
        momentum().minimize(tf.constant(1.0))


def test_a_placeholder_outside_of_a_receiver_explains_itself() -> None:
    with pytest.raises(RuntimeError, match="no sessions"):
        tf.compat.v1.placeholder(tf.float32)


def test_hooks_are_checked(tmp_path) -> None:
    with pytest.raises(TypeError, match="hooks must be SessionRunHooks, got int"):
        estimator(tmp_path).train(batches(), hooks=[3], steps=1)


def test_without_a_folder_there_is_a_temporary_one(caplog) -> None:
    found = tf.estimator.Estimator(model_fn, params={"optimizer": momentum})
    assert list(Path(found.model_dir).iterdir()) == []
    assert "no model_dir" in caplog.text
    Path(found.model_dir).rmdir()
