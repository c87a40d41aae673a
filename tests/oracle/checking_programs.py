"""Non-finite numbers: `debugging.enable_check_numerics`; see `both`.

python checking_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import re
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
INFINITY = float("inf")
SAID = (
    r"Detected Infinity or NaN in output \d of (?:graph|eagerly-executing) op",
    *(r'op "(?:b\')?(\w+)', r"# of outputs: \d+", r"dtype: <dtype: '\w+'>"),
    *(
        r"shape: .*",
        r"# of .Inf elements: \d+",
        r"# of .NaN elements: \d+",
        r"Input tensors? ?\S*:",
    ),
    *(r"Stack trace of op's creation", r"-> \|", r"Tensor had .* values", r"L\d+\) (\w*scaled)"),
)


def told(call: Any) -> Any:
    """The result of a call; of an error, the op and result that it names."""
    try:
        return np.asarray(call()).tolist()
    except tf.errors.InvalidArgumentError as error:
        # TensorFlow counts elements when it runs a single op eagerly.
        return [sorted(set(re.findall(pattern, str(error)))) for pattern in SAID[:-1]] + [
            bool(re.search(SAID[-1], str(error)))
        ]


def eager() -> Any:
    x = tf.constant([0.0, -1.0, 2.0])
    calls = [
        lambda: tf.math.log(x),
        lambda: x / 0.0,
        lambda: tf.constant([1.0, 2.0]) / [0.0, 0.0],
        lambda: tf.reshape(tf.constant([INFINITY, 1.0]), [2, 1])[0, 0],
        lambda: tf.math.sqrt(x + 1.0),
        lambda: tf.math.log(tf.constant([0.0], tf.float64)),
        lambda: tf.linalg.matmul([[3e38]], [[10.0]]),
        lambda: tf.nn.moments(tf.constant([3e38, -3e38]), [0])[1],
        lambda: tf.range(3) // 2,
    ]
    before = [told(call) for call in calls]
    tf.debugging.enable_check_numerics()
    tf.debugging.enable_check_numerics()
    during = [told(call) for call in calls]
    tf.debugging.disable_check_numerics()
    return [str(before), during, str(before) == str([told(call) for call in calls])]


def graphs() -> Any:
    tf.debugging.enable_check_numerics()

    @tf.function
    def scaled(x: Any) -> Any:
        y = x
        if tf.reduce_sum(x) > 0.0:
            y = tf.math.log(x)
        for _ in tf.range(2):
            y = y / tf.reduce_min(x)
        return y

    found = [told(lambda x=x: scaled(tf.constant(x))) for x in ([1.0, 2.0], [0.0, 1.0], [0.0, 0.0])]
    tf.debugging.disable_check_numerics()
    # Traced functions keep their checks.
    found.append(told(lambda: scaled(tf.constant([0.0, 1.0]))))
    other = tf.function(tf.math.log)
    return [*found, str(told(lambda: other(tf.constant([0.0]))))]


def gradients() -> Any:
    tf.debugging.enable_check_numerics()
    x = tf.Variable([0.0, 1.0])
    with tf.GradientTape() as tape:
        y = tf.math.sqrt(x)
    found = [told(lambda: tape.gradient(y, x))]

    @tf.function
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.math.sqrt(x)
        return tape.gradient(y, x)

    found += [told(lambda v=v: slope(tf.constant(v))) for v in ([1.0, 4.0], [0.0, 1.0])]
    tf.debugging.disable_check_numerics()
    return found


def training() -> Any:
    tf.debugging.enable_check_numerics()
    x = np.ones((4, 3), np.float32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    fine = model.fit(x, x[:, :1], verbose=0).history["loss"]
    x[2, 1] = np.nan
    try:
        model.fit(x, x[:, :1], verbose=0)
    except tf.errors.InvalidArgumentError as error:
        return [fine, "Detected Infinity or NaN" in str(error)]
    finally:
        tf.debugging.disable_check_numerics()
    return None


def signs() -> Any:
    check = tf.raw_ops.CheckNumericsV2
    values = (
        *([1.0, INFINITY], [-INFINITY], [np.nan], [-INFINITY, INFINITY], [np.nan, INFINITY]),
        *([np.nan, -INFINITY, INFINITY], [1.0, 2.0], []),
    )
    return [
        told(lambda v=v: check(tensor=tf.constant(v, tf.float64), message="here")) for v in values
    ]


PROGRAMS = {
    "eager": eager,
    "graphs": graphs,
    "gradients": gradients,
    "training": training,
    "signs": signs,
}

if __name__ == "__main__":
    report(PROGRAMS)
