"""Stop inside a function, or inside a model, with pdb.

    python examples/debugging.py            # then type: p x, n, p x, c
    python examples/debugging.py --model

`tf.config.experimental_run_functions_eagerly(True)` lets functions run as plain Python.
"""

import sys

import pinnace as tf


@tf.function
def f(x):
    if x > 0:
        import pdb

        pdb.set_trace()
        x = x + 1
    return x


class CustomModel(tf.keras.models.Model):
    @tf.function
    def call(self, input_data):
        if tf.reduce_mean(input_data) > 0:
            return input_data
        import pdb

        pdb.set_trace()
        return input_data // 2


if __name__ == "__main__":
    tf.config.experimental_run_functions_eagerly(True)
    if "--model" in sys.argv:
        model = CustomModel()
        print(model(tf.constant([-2, -4])))
    else:
        print(f(tf.constant(1)))
    tf.config.experimental_run_functions_eagerly(False)
