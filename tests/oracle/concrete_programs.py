"""Calls and types of concrete functions, in TensorFlow and in pinnace: results as JSON.

Run as `python concrete_programs.py tensorflow|pinnace FOLDER`; see test_concrete_functions.py.
"""

# ruff: noqa: ARG002, T201 (TraceType has such parameters)

import importlib
import json
import sys
from typing import Any

tf: Any = importlib.import_module(sys.argv[1])
SCALAR = tf.TensorSpec([], tf.float32)
x = tf.constant(10.0)


@tf.function
def power(a: Any, b: Any) -> Any:
    return a**b


@tf.function
def scaled(n: Any, a: Any, k: Any = 1, *, t: str = "s", u: Any = None) -> Any:  # noqa: ARG001
    return a * n * k


@tf.function
def nested(a: Any, parts: Any) -> Any:
    return a + parts[0] * parts[1]["k"]


square = power.get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)
doubled = scaled.get_concrete_function(2, SCALAR, t="q")
partly = nested.get_concrete_function(SCALAR, [1.5, {"k": SCALAR}])
wholly = nested.get_concrete_function(SCALAR, [1.5, {"k": 2.0}])

CALLS = """
square(x)
square(x, 2)
square(x, 3)
square(x, b=2)
square(x, b=3)
square(x, b=2.0)
square(a=x)
square(a=x, b=2)
square(a=x, b=5)
square(x, c=5)
square(x, b="2")
doubled(x)
doubled(a=x)
doubled(3, x)
doubled(n=3, a=x)
doubled(2, x, 2)
doubled(2, x, t="z")
doubled(2, x, u=1)
partly(x, [1.5, {"k": x}])
partly(x, [2.5, {"k": x}])
wholly(x)
wholly(x, [1.5, {"k": 2.0}])
wholly(x, [1.5, {"k": 3.0}])
wholly(x, parts=[1.5, {"k": 3.0}])
str(square.function_type)
str(doubled.function_type)
str(partly.function_type)
list(doubled.function_type.parameters)
str(doubled.function_type.parameters["u"].kind)
str(doubled.function_type.output)
str(square.inference_fn.function_type)
str(square).splitlines()[:5]
""".strip().splitlines()


def attempt(call: str) -> Any:
    """The result of a call, or the class of the exception."""
    try:
        found = eval(call)
    except Exception as error:
        return type(error).__name__
    return float(found) if hasattr(found, "numpy") else found


def calls() -> Any:
    return {call: attempt(call) for call in CALLS}


class Fruit:
    def __init__(self, flavour: float) -> None:
        self.flavour = flavour

    def __tf_tracing_type__(self, context: Any) -> Any:
        return FruitType(type(self), self)


class Apple(Fruit):
    pass


class Mango(Fruit):
    pass


class FruitType(getattr(tf.types.experimental, "TraceType", object)):  # type: ignore[misc]
    def __init__(self, kind: type, value: Any) -> None:
        self.kind, self.value = kind, value

    def is_subtype_of(self, other: Any) -> bool:
        return self == other

    def most_specific_common_supertype(self, others: Any) -> Any:
        return self if all(self == other for other in others) else None

    def placeholder_value(self, placeholder_context: Any = None) -> Any:
        return self.value

    def __eq__(self, other: object) -> bool:
        return type(other) is FruitType and self.kind is other.kind

    def __hash__(self) -> int:
        return hash(self.kind)


def trace_types() -> Any:
    """Objects whose types are equal share a graph, that of the first."""
    traced = []

    @tf.function
    def mixed(a: Any, b: Any) -> Any:
        traced.append(type(a).__name__ + type(b).__name__)
        return tf.constant(a.flavour) + b.flavour

    pairs = [(Apple(1.0), Mango(2.0)), (Apple(5.0), Mango(6.0)), (Mango(3.0), Mango(4.0))]
    return {"results": [float(mixed(a, b)) for a, b in pairs], "traced": traced}


PROGRAMS = {"calls": calls, "trace_types": trace_types}

if __name__ == "__main__":
    print(json.dumps({name: program() for name, program in PROGRAMS.items()}))
