"""The objects that `load` returns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes, structure
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.composite import CompositeSpec, is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import FailedPreconditionError, OpError
from pinnace.framework.process_effects import collector_paused
from pinnace.framework.resources import TrackableResource
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Operands, Tensor
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import Variable
from pinnace.framework.visible_text import visible_line
from pinnace.functions.concrete import ConcreteFunction
from pinnace.saved_model.layout import CREATE, INITIALIZE

if TYPE_CHECKING:
    import inspect

    from pinnace.saved_model.codecs.objects import CallSpec

_MANY = 10  # traces listed in an error


class RestoredObject(AutoTrackable):
    """An object of a SavedModel: its children are attributes."""

    def __repr__(self) -> str:
        names = ", ".join(self._trackable_children()) or "nothing"
        return f"<{type(self).__name__} with {names}>"

    def __getattr__(self, name: str) -> Any:
        """Raise the error that prevented a function from being created on loading."""
        lazy = self.__dict__.get("_refused_functions", {}).get(name)
        if lazy is None:
            return object.__getattribute__(self, name)  # raises its own error, also in a property
        return lazy.get()

    def _refuse(self, name: str, function: LazyConcrete) -> None:
        """Make access to an attribute raise the error of a function."""
        if "_refused_functions" not in self.__dict__:
            object.__setattr__(self, "_refused_functions", {})
        self.__dict__["_refused_functions"][name] = function


class RestoredCallable(RestoredObject):
    """An object that was saved with a function as its `__call__`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call that function."""
        return self._trackable_children()["__call__"](*args, **kwargs)  # type: ignore[operator]  # it is a function


class RestoredOptimizer(RestoredObject):
    """An object with slot variables, such as an optimizer.

    Args:
        identifier: the identifier in the file.
    """

    _identifier: str
    _slots: list[tuple[Variable, str, Variable]]

    def __init__(self, identifier: str) -> None:
        super().__init__()
        put: Callable[[Any, str, object], None] = object.__setattr__
        put(self, "_identifier", identifier)
        put(self, "_slots", [])

    def _keep(self, variable: Variable, name: str, kept: Variable) -> None:
        """Add a slot variable of another variable, under a name."""
        self._slots.append((variable, name, kept))

    def get_slot(self, variable: Variable, name: str) -> Variable | None:
        """A variable's slot variable of that name, None if there is none."""
        return next((kept for one, n, kept in self._slots if one is variable and n == name), None)

    def get_slot_names(self) -> list[str]:
        """The names of all slots."""
        return sorted({name for _, name, _ in self._slots})

    def _slot_variables(self) -> list[tuple[Variable, str, Variable]]:
        return self._slots


class LazyConcrete:
    """A concrete function of a file, built on first use.

    Args:
        name: the function's name.
        arguments: `(args, kwargs)`, specs where tensors go.
        make: creates the function.
        lock: held meanwhile; shared by all objects of a model, since they create one another.
    """

    def __init__(
        self,
        name: str,
        arguments: Callable[[], Any],
        make: Callable[[], ConcreteFunction],
        lock: threading.RLock | None = None,
    ) -> None:
        self.name = name
        self._decode = arguments
        self._make = make
        self._arguments: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self._made: ConcreteFunction | None = None
        self._lock = lock or threading.RLock()

    @property
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The specs of its arguments."""
        if self._arguments is None:
            self._arguments = self._decode()
        return self._arguments

    def get(self) -> ConcreteFunction:
        """The function, always the same one."""
        found = self._made
        if found is None:
            with self._lock, collector_paused():
                found = self._made
                if found is None:
                    found = self._made = self._make()
        return found


class RestoredFunction(Trackable):
    """A function of a SavedModel: a call runs the trace that matches its arguments.

    Args:
        name: the name it was saved with.
        spec: the parameters of the original Python function.
        traces: its concrete functions, in the order in which they are tried.
    """

    def __init__(self, name: str, spec: CallSpec, traces: Sequence[LazyConcrete]) -> None:
        self._name = name
        self.call_spec = spec
        self._signature: inspect.Signature = spec.signature()
        self._traces = tuple(traces)

    @property
    def name(self) -> str:
        """The name it was saved with."""
        return self._name

    @property
    def input_signature(self) -> Any:
        """The specs given in its definition."""
        return self.call_spec.input_signature

    @property
    def saved_arguments(self) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """The arguments of its traces, `(args, kwargs)` with specs, in the order of matching."""
        return [trace.arguments for trace in self._traces]

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        """Its traces."""
        return [trace.get() for trace in self._traces]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the first trace that fits.

        Raises:
            ValueError: no trace fits.
        """
        arguments = self._bound(args, kwargs)
        for convert in (False, True):
            for trace in self._traces:
                found = _fitting(trace.arguments, arguments, convert)
                if found is not None:
                    return trace.get().call_flat(found)
        raise self._misfit(arguments)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments; TensorSpecs may be given for tensors.

        Raises:
            ValueError: no trace fits.
        """
        if not args and not kwargs and len(self._traces) == 1:
            return self._traces[0].get()
        arguments = self._bound(args, kwargs)
        for convert in (False, True):
            for trace in self._traces:
                if _fitting(trace.arguments, arguments, convert) is not None:
                    return trace.get()
        raise self._misfit(arguments)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The arguments in canonical form: by position as far as they can, defaults filled in."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._name}{self._signature}: {error}") from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def _misfit(self, arguments: Any) -> ValueError:
        given = (
            f"{self._name}: no saved trace fits these arguments. "
            f"Could not find matching concrete function to call\n  got {described(arguments)}"
        )
        if not self._traces:
            return ValueError(f"{given}\n  it was saved without traces, since it was never called")
        known = [f"  saved {described(t.arguments)}" for t in self._traces[:_MANY]]
        if len(self._traces) > _MANY:
            known.append(f"  and {len(self._traces) - _MANY} more")
        return ValueError("\n".join([given, *known]))

    def __repr__(self) -> str:
        return f"<RestoredFunction {self._name!r} with {len(self._traces)} traces>"


def _fitting(wanted: Any, given: Any, convert: bool) -> list[Tensor] | None:
    """The tensors to call a trace with; None if the arguments do not match it.

    Args:
        wanted: `(args, kwargs)` of the trace.
        given: `(args, kwargs)` of the call.
        convert: whether other values may be converted to tensors.
    """
    try:
        leaves = structure.flatten_up_to(wanted, given, check_types=False)
    except (TypeError, ValueError):
        return None
    tensors = []
    for leaf, spec in zip(leaves, structure.flatten(wanted), strict=True):
        if isinstance(spec, TensorSpec):
            tensor = _as_tensor(leaf, spec, convert)
            if tensor is None:
                return None
            tensors.append(tensor)
        elif isinstance(spec, CompositeSpec):
            if not spec.is_compatible_with(leaf):
                return None
            tensors += structure.flatten(leaf, expand_composites=True)
        elif isinstance(leaf, (Operands, np.ndarray)) or not _equal(leaf, spec):
            return None
    return tensors


def _as_tensor(leaf: Any, spec: TensorSpec, convert: bool) -> Any:
    if isinstance(leaf, TensorSpec):
        return leaf if spec.is_compatible_with(leaf) else None
    if not isinstance(leaf, Tensor):
        if not convert and not isinstance(leaf, (Operands, np.ndarray)):
            return None
        try:
            leaf = convert_to_tensor(leaf, dtype_hint=spec.dtype)
        except (TypeError, ValueError):
            return None
    return leaf if spec.is_compatible_with(leaf) else None


def _equal(a: object, b: object) -> bool:
    # True and 1 are equal for Python, and are different traces.
    if isinstance(a, bool) is not isinstance(b, bool):
        return False
    try:
        return bool(a == b)
    except Exception:
        return False


def described(arguments: Any) -> str:
    """The arguments `(args, kwargs)` of a call as text, tensors as their specs."""
    args, kwargs = structure.map_structure(_text, arguments)
    parts = [f"{arg}" for arg in args] + [f"{name}={value}" for name, value in kwargs.items()]
    return f"({', '.join(parts)})".replace("'", "")


def _text(leaf: Any) -> str:
    if isinstance(leaf, (Tensor, Variable)):
        return f"{leaf.dtype.name}{leaf.shape.text}"
    if is_composite(leaf):
        return repr(leaf.spec)
    if isinstance(leaf, np.ndarray):
        return f"array {leaf.dtype}{list(leaf.shape)}"
    if isinstance(leaf, TensorSpec):
        return leaf.text
    return repr(leaf)[:100]


class SignatureMap(Mapping[str, ConcreteFunction], Trackable):
    """The signatures of a model, by name; each is made on first use.

    Args:
        signatures: by name.
    """

    def __init__(self, signatures: Mapping[str, LazyConcrete]) -> None:
        self._signatures = dict(signatures)

    def __getitem__(self, name: str) -> ConcreteFunction:
        try:
            lazy = self._signatures[name]
        except KeyError:
            known = ", ".join(map(visible_line, sorted(self._signatures))) or "none"
            raise KeyError(f"there is no signature {name!r}; the model has: {known}") from None
        return lazy.get()

    def __contains__(self, name: object) -> bool:
        return name in self._signatures

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"_SignatureMap({', '.join(map(repr, self._signatures))})"


class RestoredResource(RestoredObject, TrackableResource):
    """A table or the like: created and filled by its own functions on first use.

    Args:
        lock: held while the table is created and filled, so that no thread uses it unfilled.
    """

    def __init__(self, lock: threading.RLock | None = None) -> None:
        super().__init__()
        put: Callable[[Any, str, object], None] = object.__setattr__
        put(self, "_making_lock", lock or threading.RLock())

    def restore_when_made(self, read: Callable[[], dict[str, Any]]) -> None:
        """Restore it from the values of `read`, once it is created."""
        object.__setattr__(self, "_stored_values", read)

    @property
    def resource_handle(self) -> Tensor:
        """The handle that functions take.

        Raises:
            FailedPreconditionError: the functions that make it are missing.
        """
        found: Tensor | None = self.__dict__.get("_made_handle")
        if found is None:
            with self.__dict__["_making_lock"]:
                # The initialiser uses its handle, in this thread; others wait until it has run.
                found = self.__dict__.get("_made_handle")
                if found is None:
                    found = self.__dict__.get("_unfilled_handle")
                if found is None:
                    found = self._make()
        return found

    def _make(self) -> Tensor:
        put: Callable[[Any, str, object], None] = object.__setattr__
        if self.__dict__.get("_is_being_made"):
            raise FailedPreconditionError(f"{self!r}: {CREATE!r} needs the handle that it makes")
        put(self, "_is_being_made", True)
        try:
            handle: Any = self._run(CREATE)
            is_handle = isinstance(handle, Tensor) and handle.dtype is dtypes.resource
            if not is_handle and "_has_no_handle" not in self.__dict__:
                raise FailedPreconditionError(f"{self!r}: {CREATE!r} must give a handle")
            put(self, "_unfilled_handle", handle)
            if INITIALIZE in self._trackable_children():
                self._run(INITIALIZE)
            read = self.__dict__.get("_stored_values")
            if read is not None:
                self._restore_from_tensors(read())
        finally:
            # If that failed, later uses raise the same error instead of using an empty table.
            put(self, "_unfilled_handle", None)
            put(self, "_is_being_made", False)
        put(self, "_made_handle", handle)
        made: Tensor = handle
        return made

    def initialise_without_handle(self) -> None:
        """Initialise tables that functions find by name; any tensor serves as the handle."""
        object.__setattr__(self, "_has_no_handle", True)
        _ = self.resource_handle

    def _run(self, name: str) -> Any:
        function = self._trackable_children().get(name)
        if not isinstance(function, (RestoredFunction, ConcreteFunction)):
            raise FailedPreconditionError(f"{self!r} has no function {name!r}")
        try:
            return function()
        except OpError:
            raise
        except (TypeError, ValueError) as error:
            raise FailedPreconditionError(
                f"{self!r}: function {name!r} cannot be called without arguments: {error}"
            ) from error
