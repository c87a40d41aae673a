"""Op -> converter."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pinnace.deploy.onnx.converters.unsupported import NO_ONNX
from pinnace.framework.late_modules import LateModules

Function: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Function)


class Converter(NamedTuple):
    """The converter of an op to ONNX.

    Attributes:
        function: `function(g, call, *values)`: a value per argument of the op's signature, a tuple
            for a list.
        since: the opset that has all the operators it needs.
        constants: the arguments that must be known when the file is written: ONNX has attributes
            for them, or other operators for other values.
        earlier: `earlier(node, takers)`: whether what becomes of the node needs no such opset.
    """

    function: Function
    since: int
    constants: tuple[str, ...] = ()
    earlier: Callable[..., bool] | None = None


_converters: dict[str, Converter] = {}
# Modules with converters that few models want; importing one registers them.
later = LateModules()


def converts(
    *names: str,
    since: int = 18,
    constants: tuple[str, ...] = (),
    earlier: Callable[..., bool] | None = None,
) -> Callable[[F], F]:
    """Register a converter.

    Args:
        names: of the ops.
        since: the opset that has all the operators it needs.
        constants: the arguments that it asks for with `NodeView.needed`.
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


# Op -> how it computes with complex numbers; and the ops that do the same to both their parts.
_of_pairs: dict[str, Function] = {}
_by_parts: set[str] = set()


def converts_pairs(
    *names: str, always: bool = False, constants: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Register what ops do where complex numbers are among their inputs or outputs.

    Args:
        names: of the ops.
        always: whether that is always so; else they have another converter for real numbers.
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
    """These ops do the same to both parts of complex numbers."""
    for name in names:
        if name in _of_pairs or name in _by_parts:
            raise ValueError(f"op {name!r} computes with complex numbers in two ways")
        _by_parts.add(name)


def of_pairs(name: str) -> Function | None:
    """The converter of an op on complex numbers; None if it has none."""
    later.import_all()
    return _of_pairs.get(name)


def goes_by_parts(name: str) -> bool:
    """Whether an op does the same to both parts of a complex number."""
    later.import_all()
    return name in _by_parts


def converters() -> dict[str, Converter]:
    """Every converter by op, in alphabetical order."""
    later.import_all()
    return dict(sorted(_converters.items()))


def find(name: str) -> Converter | None:
    """The converter of an op, None if it has none."""
    later.find(lambda: _converters.get(name) or NO_ONNX.get(name))
    return _converters.get(name)
