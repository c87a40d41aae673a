"""Functions of `keras.backend` on matrices."""

from typing import Any


def _along_axes(k: Any, x: Any) -> list[Any]:
    names = ("sum", "mean", "var", "std", "prod", "max", "min")
    found = [getattr(k, name)(x, axis=1, keepdims=True) for name in names]
    found += [getattr(k, name)(x > 0, axis=0) for name in ("mean", "std", "all", "any")]
    found += [k.sum(x), k.argmax(x), k.argmin(x, axis=0), k.cumsum(x, axis=1), k.cumprod(x)]
    return [*found, k.l2_normalize(x, axis=-1)]


def _elements(k: Any, x: Any, y: Any) -> list[Any]:
    found = [
        getattr(k, name)(x)
        for name in ("abs", "sign", "square", "exp", "round", "sigmoid", "tanh", "sin", "cos")
    ]
    found += [k.sqrt(x), k.log(k.abs(x)), k.pow(k.abs(x), 0.5), k.maximum(x, y), k.minimum(x, y)]
    found += [k.clip(x, -0.5, 1.5), k.clip(x, None, 0.25), k.clip(x, 1.0, 0.0)]
    found += [k.relu(x), k.relu(x, 0.2), k.relu(x, 0.1, 1.0), k.relu(x, 0.1, 2.0, 0.5)]
    found += [k.elu(x), k.elu(x, 0.3), k.hard_sigmoid(x), k.softmax(x), k.softplus(x)]
    found += [k.softsign(x), k.equal(x, y), k.less(x, y), k.greater_equal(x, y)]
    return found


def _shapes(k: Any, x: Any, y: Any) -> list[Any]:
    cube = k.stack([x, y], axis=1)
    found = [k.flatten(x), k.batch_flatten(cube), k.expand_dims(x), k.squeeze(k.expand_dims(x), -1)]
    found += [k.transpose(cube), k.permute_dimensions(cube, (0, 2, 1)), k.concatenate([x, y])]
    found += [k.tile(x, (2, 1)), k.repeat(x, 3), k.repeat_elements(x, 2, 1), k.reverse(x, 1)]
    found += [k.temporal_padding(cube), k.spatial_2d_padding(k.expand_dims(cube), ((1, 0), (2, 1)))]
    found += [k.gather(x, k.cast([1, 0], "int32")), k.one_hot(k.argmax(x), 4), k.arange(4)]
    found += [k.bias_add(cube, x[0]), k.dot(x, k.transpose(y)), k.dot(cube, k.transpose(y))]
    found += [
        k.batch_dot(x, y),
        k.batch_dot(x, y, 1),
        k.batch_dot(cube, x),
        k.batch_dot(x, cube, (1, 2)),
    ]
    found += [k.batch_dot(cube, cube, (2, 2)), k.batch_dot(cube, k.transpose(k.transpose(cube)), 1)]
    deep = k.stack([cube, cube + 1, cube * 2], axis=1)
    found += [
        k.batch_dot(deep, cube, (3, -1)),
        k.batch_dot(cube, deep, (1, 2)),
        k.batch_dot(deep, deep, 1),
    ]
    found += [k.switch(x > 0, x, y), k.switch(k.sum(x) > 0, lambda: x, lambda: y)]
    found += [k.in_top_k(x, k.cast(k.argmax(y), "int32"), 1)]
    return found


def _losses(k: Any, x: Any, y: Any) -> list[Any]:
    truth, share = k.cast(x > 0, k.floatx()), k.softmax(y)
    classes = k.argmax(x)
    return [
        k.binary_crossentropy(truth, k.sigmoid(y)),
        k.binary_crossentropy(truth, y, from_logits=True),
        k.categorical_crossentropy(k.softmax(x), share),
        k.categorical_crossentropy(k.softmax(x), y, from_logits=True),
        k.sparse_categorical_crossentropy(classes, share),
        k.sparse_categorical_crossentropy(classes, y, from_logits=True),
    ]


def _values(k: Any, x: Any) -> list[Any]:
    v = k.variable(k.eval(x))
    k.update_add(v, x)
    k.moving_average_update(v, k.ones_like(x), 0.75)
    w = k.zeros((2, 2))
    k.set_value(w, [[1, 2], [3, 4]])
    facts = [k.ndim(x), k.count_params(x), *k.int_shape(x), k.is_float_dtype(k.dtype(x))]
    return [k.get_value(v), k.get_value(w), k.eval(k.eye(3)), k.cast_to_floatx([1, 2]), facts]


def functions(tf: Any, _: Any, x: Any, y: Any) -> list[Any]:
    """Most functions of the backend."""
    k = tf.keras.backend
    found = [*_along_axes(k, x), *_elements(k, x, y), *_shapes(k, x, y)]
    return [*found, *_losses(k, x, y), *_values(k, x)]
