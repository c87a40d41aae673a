"""Undocumented names of Keras 3 that packages use: see `both`.

python keras_package_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras: Any = importlib.import_module("keras" if sys.argv[1] == "tensorflow" else "pinnace.keras")
layers, ops = keras.layers, keras.ops


def numbers(*shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).integers(-8, 9, shape) / 8).astype("float32")


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    return np.asarray(ops.cast(x, "float32")).tolist()


def filled(layer: Any) -> Any:
    """Weights with fixed values, not random ones."""
    layer.set_weights([numbers(*np.shape(x), seed=i) for i, x in enumerate(layer.get_weights())])
    return layer


class Cached(layers.MultiHeadAttention):
    """Attention that passes its projections to the next call, as in decoders."""

    def call(  # type: ignore[no-untyped-def]  # Keras looks for these names
        self, query, value, key=None, cache=None, attention_mask=None
    ) -> Any:
        key, values = self._key_dense(value), self._value_dense(value)
        if cache is not None:
            key = ops.concatenate([cache[0], key], axis=1)
            values = ops.concatenate([cache[1], values], axis=1)
        result, _ = self._compute_attention(
            query=self._query_dense(query), key=key, value=values, attention_mask=attention_mask
        )
        return self._output_dense(result), key, values


class Halved(layers.MultiHeadAttention):
    """Attention whose middle step a subclass replaces."""

    def _compute_attention(  # type: ignore[no-untyped-def]  # as Keras hands them on
        self, query, key, value, attention_mask=None, training=None, return_attention_scores=False
    ) -> Any:
        del training, return_attention_scores
        scores = ops.einsum(self._dot_product_equation, key, query) * self._inverse_sqrt_key_dim
        shares = self._masked_softmax(scores, attention_mask)
        return ops.einsum(self._combine_equation, shares, value) / 2, shares


def cached() -> Any:
    x = numbers(2, 3, 4, seed=9)
    layer = Cached(2, 3)
    first, key, values = layer(x[:, :2], x[:, :2])
    filled(layer)
    first, key, values = layer(x[:, :2], x[:, :2])
    mask = np.array([[[True, False, True]], [[True, True, True]]])
    return first, layer(x[:, 2:], x[:, 2:], cache=[key, values], attention_mask=mask)[0]


def halved() -> Any:
    x = numbers(2, 3, 4, seed=9)
    layer = Halved(2, 3)
    layer(x, x)
    filled(layer)
    settings = [layer._num_heads, layer._key_dim, layer._value_dim, layer._dropout, layer._use_bias]
    return layer(x, x), layer(x, x, use_causal_mask=True, return_attention_scores=True), settings


class Scaled(layers.Layer):
    """A float32 product with a weight of a layer that computes in float16."""

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight(name="scale", shape=(input_shape[-1],), initializer="ones")

    def call(self, x: Any) -> Any:
        x = ops.cast(x, "float32")
        return x * self.scale, self.scale - x, x / self.scale


def scaled(policy: str) -> Any:
    eager = Scaled(dtype=policy)(numbers(2, 3))
    described = Scaled(dtype=policy)(keras.Input((3,)))
    names = [keras.backend.standardize_dtype(x.dtype) for x in (*eager, *described)]
    return names, list(eager)


class Pair(layers.Layer):
    """Two layers that are built by hand."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.first = layers.Dense(2, dtype=self.dtype_policy, name="first")
        self.second = layers.Dense(2, dtype=self.dtype_policy, name="second")

    def build(self, input_shape: Any) -> None:
        self.first.build(input_shape)
        self.second.build((None, 2))

    def call(self, x: Any) -> Any:
        return self.second(self.first(x))


def layers_in_order() -> Any:
    x = keras.Input((3,))
    inner = keras.Sequential([layers.Dense(2, name="a"), layers.Dense(2, name="b")], name="inner")
    y = Pair(name="pair")(ops.add(inner(x), 1.0)[:, :2])
    model = keras.Model(x, layers.Dense(1, name="last")(y), name="whole")
    found = model._flatten_layers()
    return [
        [layer.name for layer in found if not isinstance(layer, layers.InputLayer)],
        [layer.path for layer in found if isinstance(layer, layers.Dense)],
        [layer.name for layer in model._flatten_layers(include_self=False, recursive=False)],
    ]


def policies_of_layers_built_by_hand() -> Any:
    policies = keras.dtype_policies.DTypePolicyMap("float32")
    policies["pair/second"] = keras.dtype_policies.get("int8_from_float32")
    pair = Pair(name="pair", dtype=policies)
    pair(numbers(2, 3))
    return pair.first.quantization_mode, pair.second.quantization_mode


def described_activations() -> Any:
    x = keras.Input((4,))
    names = ["gelu", "relu", "relu6", "silu", "tanh", "softplus", "exponential"]
    names += ["softmax", "hard_sigmoid", "leaky_relu", "elu", "selu", "celu", "log_softmax"]
    names += ["squareplus", "tanh_shrink", "linear"]
    found = [getattr(keras.activations, name)(x) for name in names]
    found.append(keras.activations.relu(x, negative_slope=0.25, max_value=0.5, threshold=0.125))
    found.append(keras.activations.relu(x, negative_slope=0.25))
    found.append(keras.activations.gelu(x, approximate=True))
    return keras.Model(x, found)(numbers(2, 4))


def taken_along() -> Any:
    x = numbers(2, 3, 4)
    one = np.array([[[1], [2]]])
    found = [ops.take_along_axis(x, one, axis=1), ops.take_along_axis(x[:1], [[[0]], [[2]]], 1)]
    y, at = keras.Input((None, 4)), keras.Input((None, 1), dtype="int32")
    model = keras.Model([y, at], ops.take_along_axis(y, at, axis=1))
    return [*found, model([x, np.array([[[1]], [[2]]], "int32")])]


def padded() -> Any:
    x = keras.Input((2,))
    y = ops.pad(x, [[0, 0], [1, 1]], mode="constant", constant_values=0.5)
    z = ops.pad(x, [[0, 0], [0, 1]], "constant", 2.0)
    model = keras.Model(x, [y, z])
    return model(numbers(2, 2)), keras.Model.from_config(model.get_config())(numbers(2, 2))


def named_again() -> Any:
    layer = layers.Dense(2, name="before")
    layer.name = "after"
    layer(numbers(1, 2))
    return layer.name, layer.path, layer.kernel.path, layer.get_config()["name"]


def dtype_of_a_config() -> Any:
    given = []

    class Own(layers.Layer):
        def __init__(self, dtype: Any = None, **options: Any) -> None:
            given.append(dtype)
            super().__init__(dtype=dtype, **options)

    for dtype in ("int32", "mixed_float16"):
        policy = keras.dtype_policies.serialize(keras.DTypePolicy(dtype))
        Own.from_config({"name": "own", "dtype": policy})
    return given


def found_by_name() -> Any:
    @keras.saving.register_keras_serializable("mine", "Own")
    class Own:
        def get_config(self) -> dict[str, Any]:
            return {}

        @classmethod
        def from_config(cls, config: dict[str, Any]) -> Any:
            return cls(**config)

    objects = {"own": Own}
    deserialize = keras.saving.deserialize_keras_object
    made = deserialize({"class_name": "own", "config": {}}, module_objects=objects)
    named = deserialize("own", module_objects=objects, printable_module_name="things")
    return isinstance(made, Own), isinstance(named, Own)


PROGRAMS = {
    "cached_attention": cached,
    "replaced_attention": halved,
    "scaled_float16": lambda: scaled("mixed_float16"),
    "scaled_bfloat16": lambda: scaled("bfloat16"),
    "layers_in_order": layers_in_order,
    "policies_of_layers": policies_of_layers_built_by_hand,
    "described_activations": described_activations,
    "taken_along": taken_along,
    "padded": padded,
    "named_again": named_again,
    "found_by_name": found_by_name,
    "dtype_of_a_config": dtype_of_a_config,
    "resizing": lambda: layers.Resizing(2, 2, bounding_box_format="xyxy").bounding_box_format,
    "inputs_of_a_model": lambda: sorted(
        keras.Model({"a": (x := keras.Input((2,), name="a"))}, x)._inputs_struct
    ),
}

if __name__ == "__main__":
    report(PROGRAMS, plain)
