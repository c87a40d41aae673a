"""Incomplete restores are reported when nothing more can be restored, as in TensorFlow.

TensorFlow logs each unused value when the status is deleted or the program ends; here, variables
without a value, which it ignores, are logged, too.
"""

import gc
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras
from pinnace.storage.bundle_writer import BundleWriter
from support.fresh_process import run_fresh


@pytest.fixture
def path(tmp_path: Path) -> str:
    one = tf.train.Checkpoint(a=tf.Variable([1.0, 2.0]), b=tf.Variable(3.0))
    return one.write(tmp_path / "values")


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    gc.collect()
    return [line.strip() for record in caplog.records for line in record.getMessage().split("\n")]


# Children of the checkpoint -> the lines between the first and the last.
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "all of it": ({"a": [0.0, 0.0], "b": 0.0}, []),
    "a value too many": ({"a": [0.0, 0.0]}, ["values that no object took (1): b"]),
    "a variable too many": (
        {"a": [0.0, 0.0], "b": 0.0, "c": 0.0},
        ["variables that it has no value for (1): c"],
    ),
    "other names": (
        {"x": [0.0, 0.0]},
        ["values that no object took (2): a, b", "variables that it has no value for (1): x"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_left_over_is_logged(
    path: str, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    children, expected = CASES[case]
    made = {name: tf.Variable(value) for name, value in children.items()}
    tf.train.Checkpoint(**made).read(path)
    assert told(caplog)[1:-1] == expected


@pytest.mark.parametrize("case", CASES)
def test_expect_partial_says_that_it_is_meant(
    path: str, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = {name: tf.Variable(value) for name, value in CASES[case][0].items()}
    tf.train.Checkpoint(**made).read(path).expect_partial()
    assert not told(caplog)


def test_what_was_raised_is_not_logged_again(path: str, caplog: pytest.LogCaptureFixture) -> None:
    for ask in ("assert_consumed", "assert_existing_objects_matched", "assert_nontrivial_match"):
        status = tf.train.Checkpoint(x=tf.Variable(0.0)).read(path)
        with pytest.raises(AssertionError):
            getattr(status, ask)()
        del status
    assert not told(caplog)


def test_a_variable_that_is_made_later_counts(path: str, caplog: pytest.LogCaptureFixture) -> None:
    late = tf.train.Checkpoint(a=tf.Variable([0.0, 0.0]))
    late.read(path)
    assert not told(caplog)
    late.b = tf.Variable(0.0)
    del late
    assert not told(caplog)


def test_it_is_logged_when_the_program_ends(path: str) -> None:
    program = """
import logging, sys
import pinnace as tf
logging.basicConfig(stream=sys.stdout)
kept = tf.train.Checkpoint(a=tf.Variable([0.0, 0.0]))
status = kept.read(sys.argv[1])
print("the end")
"""
    lines = run_fresh(program, path).splitlines()
    assert lines[0] == "the end"
    assert any("no object took (1): b" in line for line in lines[1:])


def test_checkpoints_of_names_say_it_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = str(tmp_path / "first")
    with BundleWriter(path) as bundle:
        bundle.add("old", np.ones(1, np.float32))
    tf.train.Checkpoint(a=tf.Variable([0.0], name="new")).read(path)
    assert told(caplog)[1:-1] == [
        "values that no object took (1): old",
        "variables that it has no value for (1): a",
    ]


def test_slots_of_another_optimizer_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def trained(optimizer: Any) -> tf.train.Checkpoint:
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        optimizer.build(model.trainable_variables)
        return tf.train.Checkpoint(model=model, optimizer=optimizer)

    path = trained(keras.optimizers.Adam()).write(tmp_path / "adam")
    trained(keras.optimizers.SGD()).read(path)
    assert told(caplog)[1].startswith("values that no object took (4): optimizer/")
    caplog.clear()
    path = trained(keras.optimizers.SGD()).write(tmp_path / "sgd")
    trained(keras.optimizers.Adam()).read(path)
    assert told(caplog)[1].startswith("variables that it has no value for (4): optimizer/")


def test_a_manager_that_restores_says_it(path: str, caplog: pytest.LogCaptureFixture) -> None:
    folder = Path(path).parent / "kept"
    one = tf.train.Checkpoint(a=tf.Variable([1.0, 2.0]), b=tf.Variable(3.0))
    tf.train.CheckpointManager(one, folder, 2).save()
    other = tf.train.Checkpoint(a=tf.Variable([0.0, 0.0]))
    tf.train.CheckpointManager(other, folder, 2).restore_or_initialize()
    del other
    assert "values that no object took (1): b" in told(caplog)
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
