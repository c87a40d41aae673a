"""Checkpoints of Keras models: what one side writes, the other restores, variable by variable."""

import pytest

from support.loaded_process import run_either

PROGRAM = """
import importlib, sys
tf = importlib.import_module(sys.argv[1])
task, path, which = sys.argv[2:]
keras, layers = tf.keras, tf.keras.layers

def sequential():
    return keras.Sequential(
        [keras.Input([3]), layers.Dense(4), layers.BatchNormalization(), layers.Dense(2)]
    )

def unbuilt_at_first():
    model = keras.Sequential([layers.Embedding(5, 4), layers.Conv1D(3, 1), layers.Dense(2)])
    return called(model, tf.constant([[1, 2]]))

def nested():
    inner = keras.Sequential([layers.Dense(4)])
    return keras.Sequential([keras.Input([3]), inner, layers.Dense(2)])

def functional():
    a, b = keras.Input([3]), keras.Input([4])
    x, y = layers.Dense(4)(a), layers.Dense(4, use_bias=False)(b)
    z = layers.Dense(4)(layers.Add()([x, y])) + x
    return keras.Model([a, b], [layers.Dense(1)(z), layers.Dense(2)(y)])

def subclass():
    class Small(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.last = sequential(), functional()
            self.norm = layers.LayerNormalization()

        def call(self, x):
            left = self.first(x)[:, :1] * tf.ones([1, 3])
            return self.last([left, self.norm(x[:, :1]) * tf.ones([1, 4])])

    return called(Small(), tf.ones([2, 3]))

def attention():
    return called(layers.MultiHeadAttention(2, 3), *[tf.ones([2, 3, 4])] * 2)

def einsum():
    return called(layers.EinsumDense("ab,bc->ac", 4), tf.ones([2, 3]))

def convolution():
    return called(layers.Conv2D(2, 3), tf.ones([1, 8, 8, 4]))

def called(model, *inputs):
    model(*inputs)
    return model

model = locals()[which]()
step = tf.Variable(0)
checkpoint = tf.train.Checkpoint(model=model, step=step)
if task == "write":
    for number, weight in enumerate(model.weights, 1):
        weight.assign(tf.cast(tf.fill(weight.shape, float(number)), weight.dtype))
    step.assign(7)
    checkpoint.write(path)
else:
    checkpoint.read(path).assert_existing_objects_matched()
    means = [float(tf.reduce_mean(tf.cast(weight, tf.float32))) for weight in model.weights]
    assert means == list(range(1, len(means) + 1)), means
    assert int(step) == 7
    print(len(means), "weights")
"""
MODELS = [
    "sequential",
    "unbuilt_at_first",
    "nested",
    "functional",
    "subclass",
    "attention",
    "einsum",
    "convolution",
]


@pytest.mark.parametrize("which", MODELS)
@pytest.mark.parametrize("writer", ["pinnace", "tensorflow"])
def test_the_other_side_restores_it(writer, which, tmp_path, tensorflow_python) -> None:
    pythons = {"pinnace": {}, "tensorflow": {"python": tensorflow_python}}
    (reader,) = pythons.keys() - {writer}
    path = tmp_path / "weights"
    run_either(PROGRAM, writer, "write", path, which, **pythons[writer])
    assert "weights" in run_either(PROGRAM, reader, "read", path, which, **pythons[reader])
