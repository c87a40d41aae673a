"""ExportArchive: a SavedModel made of individually chosen functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.resources import TrackableResource
from pinnace.framework.shapes import as_shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import Variable
from pinnace.functions.function import Function
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer
from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pinnace.functions.concrete import ConcreteFunction

# The endpoint that is served if a client names none.
_DEFAULT = "serving_default"


class _Root(AutoTrackable):
    """The object that is saved, with endpoints and lists of variables as attributes."""

    variables: list[Variable]
    trainable_variables: list[Variable]
    non_trainable_variables: list[Variable]
    _all_variables: list[Variable]
    _misc_assets: list[Trackable]


class ExportArchive:
    """Collects functions and the objects they use, and writes them as one SavedModel.

    Each endpoint is an attribute of the object that `saved_model.load` returns, and a signature of
    its name; the first is the signature `serving_default` too, unless another endpoint has that
    name.

    Args:
        format: must be "saved_model".

    Raises:
        ValueError: unknown format.
    """

    def __init__(self, format: str = "saved_model", **kwargs: Any) -> None:
        if format != "saved_model" or kwargs:
            raise ValueError(
                f"ExportArchive: format must be 'saved_model', got {format!r}"
                + (f", and {', '.join(sorted(kwargs))}" if kwargs else "")
            )
        self._root = _Root()
        self._root.variables = []
        self._root.trainable_variables = []
        self._root.non_trainable_variables = []
        self._endpoints: dict[str, Function[..., Any]] = {}
        self._tracked: list[Trackable] = []

    @property
    def variables(self) -> list[Variable]:
        """The variables of tracked layers and functions."""
        return list(self._root.variables)

    @property
    def trainable_variables(self) -> list[Variable]:
        """The variables that training changes."""
        return list(self._root.trainable_variables)

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """The variables that training does not change."""
        return list(self._root.non_trainable_variables)

    def track(self, resource: Any) -> None:
        """Have the archive save the state of a layer, model or other object.

        Variables that endpoints use are saved without it; lookup tables are not.

        Args:
            resource: a layer that is built, or a Trackable, such as a table.

        Raises:
            ValueError: a layer that is not built; anything else.
        """
        if isinstance(resource, Layer):
            if not resource.built:
                raise ValueError(
                    f"ExportArchive.track: {resource.name!r} must be built first\n"
                    "  Try: call it on data"
                )
            self._root.variables.extend(resource.variables)
            self._root.trainable_variables.extend(resource.trainable_variables)
            self._root.non_trainable_variables.extend(resource.non_trainable_variables)
        elif not isinstance(resource, Trackable):
            raise ValueError(  # noqa: TRY004 (Keras: a ValueError)
                "ExportArchive.track: resource must be a Layer, a Model or another Trackable, got "
                f"{type(resource).__name__}: {resource!r}"
            )
        self._tracked.append(resource)

    def add_endpoint(
        self, name: str, fn: Callable[..., Any], input_signature: Any = None, **kwargs: Any
    ) -> Function[..., Any]:
        """Add a function that is served.

        Args:
            name: name of the attribute and the signature.
            fn: takes tensors; a `function` that was called needs no `input_signature`.
            input_signature: a list with a spec for each argument, or a structure of them:
                InputSpecs with shape and dtype, TensorSpecs, KerasTensors, or tensors.
            **kwargs: must be empty.

        Returns:
            The function as it is traced.

        Raises:
            TypeError: a signature that is not a list or tuple.
            ValueError: a name that is taken; no signature, and no trace either; a spec without
                shape or dtype.
        """
        who = f"ExportArchive.add_endpoint({name!r})"
        if kwargs:
            raise ValueError(f"{who}: unknown arguments {', '.join(sorted(kwargs))}")
        if name in self._endpoints or hasattr(self._root, name):
            raise ValueError(
                f"{who}: the name is already taken\n  taken: {', '.join(self._endpoints)}"
            )
        if input_signature is not None:
            if not isinstance(input_signature, (list, tuple)):
                raise TypeError(
                    f"{who}: input_signature must be a list or tuple, got {input_signature!r}"
                )
            specs = structure.map_structure(lambda x: _spec(who, x), list(input_signature))
            plain = fn.python_function if isinstance(fn, Function) else fn
            fn = Function(plain, input_signature=specs, autograph=False, name=name)
            fn.get_concrete_function()
        elif not isinstance(fn, Function) or not fn.concrete_functions():
            raise ValueError(
                f"{who}: input_signature must be given, or fn be a `function` that was called"
            )
        setattr(self._root, name, fn)
        self._endpoints[name] = fn
        return fn

    def track_and_add_endpoint(
        self, name: str, resource: Any, input_signature: Any, **kwargs: Any
    ) -> Function[..., Any]:
        """`track` a layer or model, and `add_endpoint` for calling it.

        Args:
            name: name of the endpoint.
            resource: a layer or model that is built.
            input_signature: see `add_endpoint`.
            **kwargs: must be empty.
        """
        self.track(resource)

        def call(*args: Any) -> Any:
            return resource(*args)

        return self.add_endpoint(name, call, input_signature, **kwargs)

    def add_variable_collection(
        self, name: str, variables: list[Variable] | tuple[Variable, ...] | set[Variable]
    ) -> None:
        """Save a list of variables as an attribute of the loaded object.

        Args:
            name: name of the attribute.
            variables: Variables.

        Raises:
            ValueError: no list, tuple or set; not of variables alone.
        """
        who = f"ExportArchive.add_variable_collection({name!r})"
        if not isinstance(variables, (list, tuple, set)):
            raise ValueError(  # noqa: TRY004 (Keras: a ValueError)
                f"{who}: variables must be a list, tuple or set, got {type(variables).__name__}"
            )
        others = {type(v).__name__ for v in variables if not isinstance(v, Variable)}
        if others:
            raise ValueError(f"{who}: all must be variables, got {', '.join(sorted(others))} too")
        setattr(self._root, name, list(variables))

    def write_out(self, filepath: str | Path, options: Any = None, verbose: bool = True) -> None:
        """Write the SavedModel.

        Args:
            filepath: the folder.
            options: a `saved_model.SaveOptions`.
            verbose: whether to print the endpoints.

        Raises:
            ValueError: no endpoint was added.
        """
        from pinnace import saved_model  # most programs write no folder

        if not self._endpoints:
            raise ValueError(
                "ExportArchive.write_out: there is no endpoint: No endpoints have been set\n"
                "  Try: add_endpoint"
            )
        concrete = {name: fn.concrete_functions()[0] for name, fn in self._endpoints.items()}
        self._root._all_variables = _unique(v for f in concrete.values() for v in f.variables)
        self._root._misc_assets = [x for x in _below(self._tracked) if _is_resource(x)]
        signatures = dict(concrete)
        signatures.setdefault(_DEFAULT, next(iter(concrete.values())))
        saved_model.save(self._root, str(filepath), signatures=signatures, options=options)
        if verbose:
            print(_told(str(filepath), concrete))  # noqa: T201 (as asked)


def _spec(who: str, x: Any) -> TensorSpec:
    if isinstance(x, TensorSpec):
        return x
    if isinstance(x, InputSpec):
        if x.shape is None or x.dtype is None:
            raise ValueError(f"{who}: an InputSpec must have shape and dtype, got {x!r}")
        return TensorSpec(x.shape, x.dtype, x.name)
    if isinstance(x, (Tensor, KerasTensor)):
        name = x.name if isinstance(x, KerasTensor) else None
        shape = as_shape(x.shape)
        return TensorSpec((None, *shape[1:]) if shape.rank else shape, x.dtype, name)
    raise TypeError(
        f"{who}: Unsupported x={x!r} ({type(x).__name__}): input_signature must hold InputSpecs, "
        "TensorSpecs, KerasTensors or tensors"
    )


def _unique(variables: Iterable[Variable]) -> list[Variable]:
    return list({id(variable): variable for variable in variables}.values())


def _below(roots: list[Trackable]) -> list[Trackable]:
    """The objects and all below them, without duplicates."""
    found: dict[int, Trackable] = {}
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = one
            waiting.extend(one._trackable_children().values())
    return list(found.values())


def _is_resource(x: Trackable) -> bool:
    return isinstance(x, TrackableResource)


def _told(path: str, endpoints: dict[str, ConcreteFunction]) -> str:
    lines = [f"Wrote {path!r} with the endpoints"]
    for name, function in endpoints.items():
        lines.append(f"  {name}: {function.pretty_printed_signature(verbose=False)}")
    return "\n".join(lines)
