"""Strategies compared with TensorFlow's: values, variables, datasets and training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.loaded_process import run_either

PROGRAMS = Path(__file__).parent / "strategies"
# TensorFlow traces each of many programs twice, possibly on a busy machine.
SECONDS = 1200.0
# Run from its file, since AutoGraph reads sources.
RUN = "import runpy, sys; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
# Cases that TensorFlow refuses with another exception class.
OTHERWISE = {"reduce of unequal shapes", "gather of scalars"}


def found_by(library: str, program: str, *arguments: str, python: str | None = None) -> Any:
    options: Any = {"timeout_s": SECONDS} | ({} if python is None else {"python": python})
    path = PROGRAMS / f"{program}.py"
    return json.loads(run_either(RUN, path, library, *arguments, **options).splitlines()[-1])


def assert_same(ours: Any, theirs: Any, where: str, rtol: float) -> None:
    """Assert equal structures, with close numbers and equal texts."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict), (where, ours, theirs)
        assert sorted(ours) == sorted(theirs), where
        for key, one in theirs.items():
            assert_same(ours[key], one, f"{where}: {key}", rtol)
    elif isinstance(theirs, list) and any(isinstance(one, (dict, list)) for one in theirs):
        assert len(ours) == len(theirs), (where, ours, theirs)
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, f"{where}[{number}]", rtol)
    elif isinstance(theirs, (str, bool, type(None))) or (
        isinstance(theirs, list) and not all(isinstance(one, (int, float)) for one in theirs)
    ):
        assert ours == theirs, where
    else:
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol, err_msg=where)


@pytest.mark.parametrize("count", ["2", "4"])
@pytest.mark.parametrize("program", ["values", "datasets"])
def test_replicas_do_what_tensorflows_do(program: str, count: str, tensorflow_python: str) -> None:
    ours = found_by("pinnace", program, count)
    theirs = found_by("tensorflow", program, count, python=tensorflow_python)
    assert sorted(ours) == sorted(theirs)
    assert len(theirs) > 50
    for name in theirs:
        if name in OTHERWISE:
            assert str(ours[name]).startswith("raises ")
            assert str(theirs[name]).startswith("raises ")
        else:
            assert_same(ours[name], theirs[name], name, 1e-6)


def test_training_gives_what_keras_gives(tensorflow_python: str) -> None:
    ours = found_by("pinnace", "fit")
    theirs = found_by("tensorflow", "fit", python=tensorflow_python)
    # Three epochs of steps with another order of summation.
    assert_same(ours, theirs, "fit", 2e-5)


SAVE = """
import importlib, json, sys
import numpy as np
tf = importlib.import_module(sys.argv[1])
folder = sys.argv[2]
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
A, S = tf.VariableAggregation, tf.VariableSynchronization
x = np.linspace(-1, 1, 24).reshape(8, 3).astype("float32")
with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input([3]), tf.keras.layers.Dense(4, "tanh"),
        tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(2),
    ])
    model.compile("adam", "mse", metrics=["mae"])
    total = tf.Variable(0.0, synchronization=S.ON_READ, aggregation=A.SUM)
model.fit(x, x[:, :2], batch_size=4, epochs=2, verbose=0)
strategy.run(lambda: (total.assign_add(1.5), None)[1])
model.save(folder + "/model.keras")
model.export(folder + "/model", verbose=False)
tf.train.Checkpoint(kernel=model.layers[0].kernel, total=total).write(folder + "/checkpoint")
# Each replica of predict has moving averages of its own; those of the first one are saved.
outputs = model(x, training=False).numpy()
print(json.dumps([outputs.tolist(), model.layers[0].kernel.numpy().tolist()]))
"""
OPEN = """
import importlib, json, sys
import numpy as np
tf = importlib.import_module(sys.argv[1])
folder = sys.argv[2]
x = np.linspace(-1, 1, 24).reshape(8, 3).astype("float32")
model = tf.keras.models.load_model(folder + "/model.keras")
served = tf.saved_model.load(folder + "/model").signatures["serving_default"]
(answer,) = served(tf.constant(x)).values()
total, kernel = tf.Variable(0.0), tf.Variable(tf.zeros([3, 4]))
tf.train.Checkpoint(kernel=kernel, total=total).read(folder + "/checkpoint").assert_consumed()
found = [model.predict(x, verbose=0).tolist(), answer.numpy().tolist()]
print(json.dumps([*found, kernel.numpy().tolist(), float(total.numpy()), len(model.weights)]))
"""


@pytest.mark.parametrize(
    ("writer", "reader"),
    [("pinnace", "tensorflow"), ("tensorflow", "pinnace")],
)
def test_what_is_saved_under_a_strategy_is_opened_without(
    writer: str, reader: str, tmp_path: Path, tensorflow_python: str
) -> None:
    options: dict[str, Any] = {
        "pinnace": {"timeout_s": SECONDS},
        "tensorflow": {"timeout_s": SECONDS, "python": tensorflow_python},
    }
    written = run_either(SAVE, writer, tmp_path, **options[writer]).splitlines()[-1]
    outputs, kernel = json.loads(written)
    opened = run_either(OPEN, reader, tmp_path, **options[reader]).splitlines()[-1]
    *answers, restored, total, count = json.loads(opened)
    for answer in answers:
        np.testing.assert_allclose(answer, outputs, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(restored, kernel)
    assert (total, count) == (3.0, 8)
