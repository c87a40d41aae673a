"""The registry of converters by op."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pinnace.deploy.onnx.converters.unsupported import NO_ONNX
from pinnace.framework.late_modules import LateModules

Function: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Function)


class Converter(NamedTuple):
    """The converter of an op to ONNX.

    Attributes:
        function: `function(g, call, *values)`, with a value for each argument of the op; a list is
            given as a tuple.
        since: the first opset with all operators that it needs.
        constants: the arguments that must be constants, because ONNX has attributes for them, or
            different operators for different values.
        earlier: `earlier(node, takers)`: whether this node can be converted in earlier opsets.
    """

    function: Function
    since: int
    constants: tuple[str, ...] = ()
    earlier: Callable[..., bool] | None = None


_converters: dict[str, Converter] = {}
# Modules with rarely used converters; importing one registers them.
later = LateModules()


def converts(
    *names: str,
    since: int = 18,
    constants: tuple[str, ...] = (),
    earlier: Callable[..., bool] | None = None,
) -> Callable[[F], F]:
    """Register a converter.

    Args:
        names: the ops.
        since: the first opset with all operators that it needs.
        constants: the arguments that it reads with `NodeView.needed`.
        earlier: see `Converter`.
    """

    def install(function: F) -> F:
        for name in names:
            if name in _converters or name in NO_ONNX:
                raise ValueError(
                    f"op {name!r} has two converters, or one and a reason to have none"
                )
            _converters[name] = Converter(function, since, constants, earlier)
        return function

    return install


# Op -> converter for complex numbers; and the ops that apply to both parts separately.
_of_pairs: dict[str, Function] = {}
_by_parts: set[str] = set()


def converts_pairs(
    *names: str, always: bool = False, constants: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Register the converter of ops with complex inputs or outputs.

    Args:
        names: the ops.
        always: whether the ops are always complex; otherwise they have a converter for reals, too.
        constants: as for `converts`, if `always`.
    """

    def install(function: F) -> F:
        if always:
            converts(*names, constants=constants)(function)
        for name in names:
            if name in _of_pairs or name in _by_parts:
                raise ValueError(f"op {name!r} computes with complex numbers in two ways")
            _of_pairs[name] = function
        return function

    return install


def converts_by_parts(*names: str) -> None:
    """Register ops that apply to both parts of complex numbers separately."""
    for name in names:
        if name in _of_pairs or name in _by_parts:
            raise ValueError(f"op {name!r} computes with complex numbers in two ways")
        _by_parts.add(name)


def of_pairs(name: str) -> Function | None:
    """The converter of an op for complex numbers; None if there is none."""
    later.import_all()
    return _of_pairs.get(name)


def goes_by_parts(name: str) -> bool:
    """Whether an op applies to both parts of a complex number separately."""
    later.import_all()
    return name in _by_parts


def converters() -> dict[str, Converter]:
    """Every converter by op, in alphabetical order."""
    later.import_all()
    return dict(sorted(_converters.items()))


def find(name: str) -> Converter | None:
    """The converter of an op; None if there is none."""
    later.find(lambda: _converters.get(name) or NO_ONNX.get(name))
    return _converters.get(name)
