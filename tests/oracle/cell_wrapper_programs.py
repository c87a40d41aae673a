"""Cells around cells: `tf.nn.RNNCellDropoutWrapper` and its kin; see `both`.

python cell_wrapper_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import json
import sys
import warnings
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), array.reshape(-1).tolist()]


def told(call: Any) -> Any:
    try:
        return plain(call())
    except (TypeError, ValueError) as error:
        return type(error).__name__


class Sum:
    """A cell without weights: what came before and the input, added up."""

    state_size = 3
    output_size = 3

    def build(self, input_shape: Any) -> None:
        """It has no weights."""

    def __call__(self, x: Any, states: Any) -> Any:
        return self.call(x, states)

    def call(self, x: Any, states: Any) -> Any:
        total = x + states
        return total, total * 0.5

    def zero_state(self, batch_size: int, dtype: Any) -> Any:
        return tf.zeros([batch_size, 3], dtype)

    def get_initial_state(self, batch_size: Any = None, dtype: Any = None, **options: Any) -> Any:
        del options
        return self.zero_state(batch_size, dtype)


X = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
H = np.ones((4, 3), np.float32)


def residual() -> Any:
    cell = tf.nn.RNNCellResidualWrapper(Sum())
    other = tf.nn.RNNCellResidualWrapper(Sum(), residual_fn=lambda x, y: x * y)
    return [
        plain(cell(tf.constant(X), tf.constant(H))),
        plain(other(tf.constant(X), tf.constant(H))),
        cell.state_size,
        cell.output_size,
        plain(cell.zero_state(2, tf.float32)),
    ]


def device() -> Any:
    cell = tf.nn.RNNCellDeviceWrapper(Sum(), "/cpu:0")
    return [plain(cell(tf.constant(X), tf.constant(H))), plain(cell.zero_state(2, tf.float32))]


def dropout() -> Any:
    found = []
    for options in (
        {"input_keep_prob": 0.5, "seed": 7},
        {"output_keep_prob": 0.4, "state_keep_prob": 0.7, "seed": 7},
        {"state_keep_prob": 0.5, "seed": 3, "dropout_state_filter_visitor": lambda _: False},
    ):
        tf.random.set_seed(1)
        cell = tf.nn.RNNCellDropoutWrapper(Sum(), **options)
        found.append(plain([cell(tf.constant(X), tf.constant(H)) for _ in range(2)]))
    tf.random.set_seed(1)
    steady = tf.nn.RNNCellDropoutWrapper(
        Sum(),
        input_keep_prob=0.5,
        output_keep_prob=0.6,
        state_keep_prob=0.7,
        variational_recurrent=True,
        input_size=3,
        dtype=tf.float32,
        seed=5,
    )
    found.append(plain([steady(tf.constant(X), tf.constant(H)) for _ in range(2)]))
    return [
        found,
        told(lambda: tf.nn.RNNCellDropoutWrapper(Sum(), input_keep_prob=2.0)),
        told(
            lambda: tf.nn.RNNCellDropoutWrapper(
                Sum(), input_keep_prob=0.5, variational_recurrent=True
            )
        ),
        told(lambda: tf.nn.RNNCellDropoutWrapper(Sum(), dropout_state_filter_visitor=3)),
    ]


PROGRAMS = {"residual": residual, "device": device, "dropout": dropout}


def main() -> None:
    warnings.simplefilter("ignore")
    found = {}
    for name, program in PROGRAMS.items():
        try:
            found[name] = program()
        except Exception as error:
            found[name] = f"error: {type(error).__name__}: {error}"
    sys.stdout.write(json.dumps(found) + "\n")


main()
