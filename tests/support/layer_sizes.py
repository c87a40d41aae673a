"""Layers in random configurations, as JSON, whose output shapes both libraries compute.

python layer_sizes.py LIBRARY CASES ANSWERS
"""

import importlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# A case: class, arguments, shapes of the inputs without the batch axis, their dtype, and the form
# of the call (`one`: the input, `list`: a list of inputs, `several`: each input as an argument).
Case = dict[str, Any]
BATCH = 2


def made(layers: Any, case: Case) -> Any:
    """The layer of a case; arguments may hold layers."""

    def value(x: Any) -> Any:
        if isinstance(x, dict) and "layer" in x:
            return made(layers, x)
        if isinstance(x, list):
            items = [value(item) for item in x]
            return items if any(hasattr(item, "call") for item in items) else tuple(items)
        return x

    return getattr(layers, case["layer"])(**{k: value(v) for k, v in case["options"].items()})


def called(case: Case, layer: Any, inputs: list[Any]) -> Any:
    """The layer on its inputs."""
    if case["call"] == "list":
        return layer(inputs)
    return layer(*inputs)


def flat(x: Any) -> Iterable[Any]:
    """The tensors of a result, or its shapes."""
    is_shape = isinstance(x, (tuple, list)) and all(n is None or isinstance(n, int) for n in x)
    if isinstance(x, (tuple, list)) and not is_shape:
        for item in x:
            yield from flat(item)
    else:
        yield x


def sizes(x: Any) -> list[int | None]:
    """A shape as a list."""
    return [None if n is None else int(n) for n in x]


def example(numpy: Any, case: Case, shape: list[int]) -> Any:
    """An input of a case, with its batch axis."""
    whole = (BATCH, *shape)
    if case["dtype"] == "string":
        return numpy.full(whole, "a b")
    return (numpy.arange(numpy.prod(whole)).reshape(whole) % 3).astype(case["dtype"])


def answers(keras: Any, case: Case) -> dict[str, Any]:
    """Output sizes computed in three ways: by compute_output_shape, on KerasTensors, on numbers."""
    import numpy as np

    shapes = case["shapes"]
    asked = made(keras.layers, case)
    whole = [(None, *shape) for shape in shapes]
    told = asked.compute_output_shape(*([whole] if case["call"] == "list" else whole))
    inputs = [keras.Input(tuple(shape), dtype=case["dtype"]) for shape in shapes]
    symbolic = called(case, made(keras.layers, case), inputs)
    numbers = [keras.ops.convert_to_tensor(example(np, case, shape)) for shape in shapes]
    real = called(case, made(keras.layers, case), numbers)
    return {
        "asked": [sizes(shape) for shape in flat(told)],
        "symbolic": [sizes(x.shape) for x in flat(symbolic)],
        "real": [sizes(x.shape) for x in flat(real)],
    }


def main() -> None:
    library, cases, out = sys.argv[1:]
    if library == "pinnace":
        keras = importlib.import_module("pinnace").keras
    else:
        keras = importlib.import_module("keras")
    found = [answers(keras, case) for case in json.loads(Path(cases).read_text())]
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
