"""Writes a model as a SavedModel, with TensorFlow's results beside it."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tf_keras

from hugging_face.drawing import LENGTH, drawn, generator_of, sizes_of

NEW = 9
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False, "num_beams": 1},
    "sampled": {
        "do_sample": True,
        "num_beams": 1,
        "seed": [7, 11],
        "top_k": 20,
        "top_p": 0.9,
        "temperature": 1.3,
    },
    "beam": {"do_sample": False, "num_beams": 3},
    "penalties": {
        "do_sample": False,
        "num_beams": 1,
        "repetition_penalty": 1.7,
        "bad_words_ids": [[9], [12, 13]],
        "min_new_tokens": 6,
    },
}
# As in transformers' own tests: one of the two sizes is unknown.
SIZES = {"rows": (None, LENGTH), "words": (2, None), "all": (2, LENGTH)}


class Forward(NamedTuple):
    """A model without a generation loop."""

    kind: Any
    config: Any
    # Inputs in addition to `model.input_signature`, or other sizes of these: name -> shape.
    inputs: Mapping[str, tuple[int | None, ...]] = {}
    # The number of tokens of a row, if seven are too few or too many.
    length: int = LENGTH
    # Whether it is written by `save_pretrained(saved_model=True)`, which traces each layer; else
    # only its signature.
    whole: bool = False
    # The model's outputs, if its `serving_output` fails.
    plain: bool = False


class Generator(NamedTuple):
    """A model with `generate`, and the signatures to write."""

    kind: Any
    config: Any
    # Kind -> the known sizes of each signature.
    ways: Mapping[str, tuple[str, ...]]
    # Inputs of `generate`: name -> shape after the batch axis; None is the number of tokens.
    inputs: Mapping[str, tuple[int | None, ...]] = {
        "input_ids": (None,),
        "attention_mask": (None,),
    }
    # Whether the SavedModel has the model with each of its layers; else only signatures and
    # weights.
    whole: bool = False
    options: Mapping[str, Any] = {}


INTEGERS = ("_ids", "_mask", "_labels", "langs", "bbox")


def spec_of(key: str, shape: tuple[int | None, ...]) -> Any:
    dtype = tf.int32 if key.endswith(INTEGERS) else tf.float32
    return tf.TensorSpec(shape, dtype, key)


def vary(model: Any, rng: np.random.Generator) -> None:
    """Change biases of zeros and scales of ones, which would hide faults in their use."""
    for weight in model.weights:
        if weight.dtype.is_floating:
            change = 0.1 * rng.standard_normal(weight.shape)
            if "variance" in weight.name:
                change = np.abs(change)
            weight.assign_add(tf.cast(change, weight.dtype))


def saved(model: Any, place: Path, signatures: dict[str, Any], whole: bool) -> None:
    module = tf.Module()
    # Keras writes a function for each layer of a model that it finds.
    module.kept = model if whole else list(model.weights)
    tf.saved_model.save(module, str(place), signatures=signatures)


def write_forward(folder: Path, name: str, one: Forward) -> None:
    rng = generator_of(name)
    tf_keras.utils.set_random_seed(7)
    model = one.kind(one.config)
    specs = {
        key: tf.TensorSpec(spec.shape, spec.dtype, key) for key, spec in signature_of(model).items()
    }
    for key, shape in one.inputs.items():
        dtype = specs[key].dtype if key in specs else spec_of(key, shape).dtype
        specs[key] = tf.TensorSpec(shape, dtype, key)
    ends = bool({"input_values", "input_features"} & specs.keys())
    given = {
        key: drawn(rng, key, spec.dtype.as_numpy_dtype, sizes_of(spec.shape, one.length), ends=ends)
        for key, spec in specs.items()
    }
    asked = {key: tf.constant(value) for key, value in given.items()}
    if one.whole:
        model.save_pretrained(folder / "all", saved_model=True)
        (folder / "all" / "saved_model" / "1").rename(folder / "model")
        shutil.rmtree(folder / "all")
        loaded = tf.saved_model.load(str(folder / "model"))
        found = loaded.signatures["serving_default"](**asked)
    else:
        model.build_in_name_scope()
        serve = serving(model, specs, plain=one.plain)
        serve.get_concrete_function()  # builds the remaining layers
        vary(model, rng)
        saved(model, folder / "model", {"serving_default": serve}, whole=False)
        found = serve(asked)
    arrays = {f"serving_default/in/{key}": value for key, value in given.items()}
    arrays |= {f"serving_default/out/{key}": value.numpy() for key, value in found.items()}
    np.savez_compressed(folder / "io.npz", **arrays)


def signature_of(model: Any) -> dict[str, Any]:
    """The inputs of a model, if transformers specifies them."""
    try:
        return dict(model.input_signature)
    except NotImplementedError:
        return {}


def flat(key: str, value: Any) -> dict[str, Any]:
    """Tensors by name; those of nested models and layers have names with two parts."""
    if value is None:
        return {}
    if tf.is_tensor(value):
        return {key: value}
    inner = value.items() if isinstance(value, Mapping) else enumerate(value)
    return {name: x for part, one in inner for name, x in flat(f"{key}_{part}", one).items()}


def serving(model: Any, specs: dict[str, Any], *, plain: bool) -> Any:
    """Like `model.serving`, with the outputs of nested models."""

    @tf.function(input_signature=[specs])
    def serve(given: dict[str, Any]) -> dict[str, Any]:
        found = model.call(given)
        if not plain:
            found = model.serving_output(found)
        return {name: x for key, value in found.items() for name, x in flat(key, value).items()}

    return serve


def generator(model: Any, specs: list[Any], options: dict[str, Any]) -> Callable[..., Any]:
    @tf.function(input_signature=specs)
    def serve(*xs: Any) -> Any:
        given = {spec.name: x for spec, x in zip(specs, xs, strict=True)}
        return {"sequences": model.generate(**given, **options, max_new_tokens=NEW)}

    return serve


def write_generator(folder: Path, name: str, one: Generator) -> None:
    rng = generator_of(name)
    tf_keras.utils.set_random_seed(7)
    model = one.kind(one.config)
    if not one.whole:
        model.build_in_name_scope()
        vary(model, rng)
    signatures, arrays = {}, {}
    for way, sizes in one.ways.items():
        for size in sizes:
            batch, length = SIZES[size]
            options = {**WAYS[way], **one.options}
            if batch is None:  # `top_p` needs the number of rows
                options.pop("top_p", None)
            specs = []
            for key, shape in one.inputs.items():
                # The documents of a question are rows.
                times = one.config.n_docs if key.startswith("context_") else 1
                rows = batch and batch * times
                specs.append(spec_of(key, (rows, *(length if n is None else n for n in shape))))
            signature = f"{way}_{size}"
            serve = signatures[signature] = generator(model, specs, options)
            given = []
            for spec in specs:
                shape = sizes_of(spec.shape, length or 5)
                given.append(drawn(rng, spec.name, spec.dtype.as_numpy_dtype, shape))
                arrays[f"{signature}/in/{spec.name}"] = given[-1]
            for out, value in serve(*map(tf.constant, given)).items():
                arrays[f"{signature}/out/{out}"] = value.numpy()
    saved(model, folder / "model", signatures, one.whole)
    np.savez_compressed(folder / "io.npz", **arrays)
