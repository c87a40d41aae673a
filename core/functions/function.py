"""`function`: a Python function that is traced once per signature and then runs as a graph."""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Generic, overload

from pinnace.framework import config, places, structure, tracebacks
from pinnace.framework.composite import CompositeSpec, spec_of
from pinnace.framework.context import state
from pinnace.framework.no_effect import ignored
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.trackable import Trackable
from pinnace.functions import jacobian as jacobian  # fills the slot of the tape
from pinnace.functions.flat_calls import gather
from pinnace.functions.methods import bound_functions, weakly_bound
from pinnace.functions.signature import FunctionSpec, call_key, to_tensors
from pinnace.functions.trace_types import wider
from pinnace.functions.tracing import trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Concatenate, TypeAlias

    from typing_extensions import ParamSpec, TypeVar  # with defaults, which typing has from 3.13

    from pinnace.framework.variable import Variable
    from pinnace.functions.concrete import ConcreteFunction

    P = ParamSpec("P", default=...)
    R = TypeVar("R", covariant=True, default=Any)
    Rest = ParamSpec("Rest")
    _Number: TypeAlias = bool | int | float | complex | str | bytes

else:
    from typing import ParamSpec, TypeVar

    P, R = ParamSpec("P"), TypeVar("R")

_numbers = itertools.count()
# This many traces of one function probably come from Python numbers that change at each call.
_MANY_TRACES = 5
# Immutable defaults.
_CONSTANT = (bool, int, float, complex, str, bytes, type(None))


class Function(Trackable, Generic[P, R]):
    """A Python function wrapped by `function`; see there."""

    def __init__(
        self,
        python_function: Callable[P, R],
        input_signature: Sequence[Any] | None = None,
        autograph: bool = True,
        reduce_retracing: bool = False,
        name: str | None = None,
        is_method: bool = False,
        instance: object = None,
        print_op: bool = False,
    ) -> None:
        self._python_function = python_function
        self._autograph = autograph
        self._reduce_retracing = reduce_retracing
        self._print_op = print_op
        self._spec = FunctionSpec(python_function, input_signature, is_method)
        self._name = name or self._spec.name
        self._instance = None if instance is None else weakref.ref(instance)
        self._concrete: dict[object, ConcreteFunction] = {}
        # Cache of the same functions, by shapes and dtypes, for calls with nothing but eager
        # tensors.
        self._by_shapes: dict[object, ConcreteFunction] = {}
        self._lock = threading.RLock()
        self._created: list[weakref.ref[Variable]] = []
        self._traced_once = False
        self._traces = 0
        self._warned = False
        functools.update_wrapper(self, python_function, updated=())
        # Attributes of the wrapped object, also of a callable, as set by `functools.wraps`.
        for key, value in getattr(python_function, "__dict__", {}).items():
            self.__dict__.setdefault(key, value)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """The pickled form: a module's function by its name, any other function by its parts."""
        name: str = self.__dict__["__qualname__"]  # of the wrapped function
        found: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        spec = self._spec
        options = (self._autograph, self._reduce_retracing, self._name, spec.is_method, None)
        given = (self._python_function, spec.input_signature, *options)
        return Function, (*given, self._print_op)

    # Properties.

    @property
    def python_function(self) -> Callable[..., Any]:
        """The function that was decorated."""
        return self._python_function

    @property
    def function_spec(self) -> FunctionSpec:
        """The specification of its parameters."""
        return self._spec

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The specs that were given."""
        return self._spec.input_signature

    @property
    def name(self) -> str:
        """The name graphs are named after."""
        return self._name

    def made_of(self, python_function: Callable[..., Any]) -> Function[..., Any]:
        """A function with these options for another Python function, which takes any arguments."""
        relax, name = self._reduce_retracing, self._name
        return Function(python_function, None, False, relax, name)

    def _decorate(self, decorator: Callable[[Any], Any]) -> None:
        """Apply a decorator to the Python function; TensorFlow's name, which packages call.

        Raises:
            ValueError: the function has been traced.
        """
        if self._concrete:
            raise ValueError("Functions cannot be decorated after they have been traced.")
        self._python_function = decorator(self._python_function)
        self._spec = FunctionSpec(
            self._python_function, self._spec.input_signature, self._spec.is_method
        )

    @property
    def converts(self) -> bool:
        """Whether AutoGraph converts the Python function."""
        return self._autograph

    def concrete_functions(self) -> list[ConcreteFunction]:
        """Every graph traced so far, in the order they were traced."""
        return list(self._concrete.values())

    def trace_for_files(self) -> None:
        """Retrace functions traced in a strategy, with one copy of each variable, for saving.

        In a file a variable has one copy.
        """
        for concrete in list(self._concrete.values()):
            place = places.for_files(concrete.place)
            if place != concrete.place:
                args, kwargs = concrete.structured_input_signature
                with places.entered(place):
                    self._concrete_for(args, kwargs)

    def experimental_get_tracing_count(self) -> int:
        """The number of times that the Python function has been traced."""
        return self._traces

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Function[P, R]: ...
    @overload
    def __get__(
        self: Function[Concatenate[Any, Rest], R], instance: object, owner: type | None = None
    ) -> Function[Rest, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Function[..., Any]:
        """The function bound to an object; each object has its own graphs."""
        if instance is None:
            return self
        bound = bound_functions(instance)
        found = bound.get(self)
        if found is None:
            with self._lock:
                found = bound.get(self)
                if found is None:
                    found = bound[self] = Function(
                        weakly_bound(self._python_function, instance),
                        self._spec.input_signature,
                        self._autograph,
                        self._reduce_retracing,
                        self._name,
                        is_method=True,
                        instance=instance,
                        print_op=self._print_op,
                    )
        return found

    # Calls.

    @overload  # a function that returns a number returns a tensor when traced
    def __call__(self: Function[P, _Number], *args: P.args, **kwargs: P.kwargs) -> Tensor: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph for these arguments, tracing it if there is none yet."""
        try:
            if not kwargs and state.tracer is None and args and self._by_shapes:
                key: list[object] = [state.autocast, state.place]
                tensors: list[Tensor] = []
                if gather(args, key, tensors):
                    found = self._by_shapes.get(tuple(key))
                    if found is not None and not config.functions_run_eagerly():
                        return found.call_flat(tensors)
            return self._call(args, kwargs)
        except Exception as error:
            tracebacks.cut(error)
            raise

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if config.functions_run_eagerly() and state.tracer is None:
            return self._python_function(*args, **kwargs)
        canonical, keywords = self._canonical(args, kwargs)
        concrete = self._concrete_for(canonical, keywords)
        tensors = _tensors(canonical, keywords)
        if not kwargs and self._spec.input_signature is None and len(self._by_shapes) < 1024:
            self._remember(args, canonical, tensors, concrete)
        return concrete.call_flat(tensors)

    def _remember(
        self,
        args: tuple[Any, ...],
        canonical: tuple[Any, ...],
        tensors: Sequence[Tensor],
        concrete: ConcreteFunction,
    ) -> None:
        """Cache the graph for similar calls, if the key depends on tensors only."""
        key: list[object] = [state.autocast, state.place]
        gathered: list[Tensor] = []
        if (
            gather(args, key, gathered)
            and len(gathered) == len(tensors)
            and all(one is other for one, other in zip(gathered, tensors, strict=True))
            # The next such call leaves out the same parameters, which then have their defaults.
            and all(isinstance(one, _CONSTANT) for one in canonical[len(args) :])
        ):
            self._by_shapes[tuple(key)] = concrete

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The graph for these arguments; TensorSpecs may be given for tensors.

        With an `input_signature` the arguments may be omitted.
        """
        signature = self._spec.input_signature
        if signature is not None and not args and not kwargs:
            args = signature
        canonical, keywords = self._spec.bind(args, kwargs)
        if signature is not None:
            canonical = tuple(
                structure.map_structure(lambda s, _: s, spec, arg)
                for spec, arg in zip(signature, canonical, strict=False)
            ) + tuple(canonical[len(signature) :])
        return self._concrete_for(to_tensors(canonical), to_tensors(keywords))

    def _canonical(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        canonical, keywords = self._spec.bind(args, kwargs)
        if self._spec.input_signature is not None:
            canonical = self._spec.convert_to_signature(canonical)
        return to_tensors(canonical), to_tensors(keywords) if keywords else keywords

    def _concrete_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ConcreteFunction:
        specs = self._spec.input_signature
        if specs is not None:
            key = call_key((*specs, *args[len(specs) :]), kwargs)
        else:
            key = call_key(args, kwargs)
        found = self._concrete.get(key)
        if found is not None:
            return found
        with self._lock:
            found = self._concrete.get(key) or wider(key, self._concrete)
            if found is not None:
                self._concrete[key] = found
                return found
            if self._reduce_retracing and specs is None:
                relaxed = self._relaxed(args, kwargs)
                if relaxed is not None:
                    self._concrete[key] = relaxed
                    return relaxed
            found = self._trace(args, kwargs)
            self._concrete[key] = found
            if self._traces >= _MANY_TRACES and not self._warned:
                self._warned = True
                import logging

                logging.getLogger("pinnace").warning(
                    "function %r was traced %d times. Each new Python value (number, string, "
                    "object) and each new shape is a new trace.\n  Try: pass numbers as "
                    "tensors, or reduce_retracing=True for shapes",
                    self._name,
                    self._traces,
                )
            return found

    # Tracing.

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ConcreteFunction:
        concrete, created = self._trace_once(args, kwargs, may_create=not self._traced_once)
        if created:
            # The variables exist now: the second trace describes later calls.
            self._created.extend(weakref.ref(variable) for variable in created)
            self._traced_once = True
            concrete, _ = self._trace_once(args, kwargs, may_create=False)
            del created
        self._traced_once = True
        return concrete

    def _trace_once(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], may_create: bool
    ) -> tuple[ConcreteFunction, list[Variable]]:
        from pinnace.functions.autograph.conversion import converted

        self._traces += 1
        python_function = self._python_function
        try:
            concrete, created = trace(
                converted(python_function, self._print_op) if self._autograph else python_function,
                args,
                kwargs,
                f"{self._name}_{next(_numbers)}",
                signature=self._spec.input_signature,
                names=self._argument_names(args, kwargs),
                may_create=may_create,
            )
        except RecursionError:
            raise RecursionError(
                f"function {self._name!r} recurses endlessly while it is traced: where a "
                "tensor decides when to stop, both branches are always traced\n"
                "  Try: a while loop"
            ) from None
        concrete._parameters = self._spec.positional
        concrete.place = state.place
        return concrete, created

    def _argument_names(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[tuple[str, str]]:
        """For each leaf of the arguments the name of the Python function's parameter, and its own.

        Source:
            TensorFlow: leaves of one argument are `x_a` and `x_b` in the structured signature, and
            the placeholders, whose names signatures have, are `x` and `x_1`.
        """
        parameters = [
            p for p in self._spec.signature.parameters.values() if p.kind is not p.VAR_KEYWORD
        ]
        names: list[tuple[str, str]] = []
        for index, arg in enumerate(args):
            parameter = parameters[min(index, len(parameters) - 1)] if parameters else None
            base = "args" if parameter is None else parameter.name
            if parameter is not None and parameter.kind is parameter.VAR_POSITIONAL:
                base = f"{base}_{index - parameters.index(parameter)}"
            names.extend(_leaf_names(base, arg))
        for key in sorted(kwargs):
            names.extend(_leaf_names(key, kwargs[key]))
        return names

    def _relaxed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ConcreteFunction | None:
        """A trace with relaxed shapes, if an earlier trace differs from this one in shapes only."""
        for earlier in self._concrete.values():
            generalised = _generalised(earlier.structured_input_signature, (args, kwargs))
            if generalised is not None:
                specs, keywords = generalised
                key = call_key(specs, keywords)
                found = self._concrete.get(key)
                if found is None:
                    found = self._trace(specs, keywords)
                    self._concrete[key] = found
                return found
        return None

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Every traced signature, one a line."""
        return "\n\n".join(f.pretty_printed_signature(verbose) for f in self.concrete_functions())

    def __repr__(self) -> str:
        return f"<Function {self._name!r} with {len(self._concrete)} traces>"


def _tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    leaves = structure.flatten((args, kwargs), expand_composites=True)
    return [leaf for leaf in leaves if isinstance(leaf, Tensor)]


def _leaf_names(base: str, value: Any) -> list[tuple[str, str]]:
    paths = structure.flatten_with_paths(value)
    return [(base, "_".join([base, *map(str, path)])) for path, _ in paths]


def _generalised(earlier: Any, call: Any) -> Any:
    """The specs that generalise both; None if they differ in more than shapes."""
    try:
        structure.assert_same_structure(earlier, call)
    except (TypeError, ValueError):
        return None
    leaves: list[Any] = []
    for old, new in zip(structure.flatten(earlier), structure.flatten(call), strict=True):
        if isinstance(old, TensorSpec) and isinstance(new, (Tensor, TensorSpec)):
            if old.dtype is not new.dtype:
                return None
            shape = old.shape.most_specific_compatible_shape(new.shape)
            leaves.append(TensorSpec.of(shape, old.dtype, old.name))
        elif isinstance(old, CompositeSpec):
            relaxed = old.most_specific_common_supertype([spec_of(new)])
            if relaxed is None:
                return None
            leaves.append(relaxed)
        elif isinstance(old, TensorSpec) or isinstance(new, (Tensor, TensorSpec)) or old != new:
            return None
        else:
            leaves.append(new)
    return structure.pack_sequence_as(call, leaves)


@overload
def function(
    func: Callable[P, R],
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Function[P, R]: ...
@overload
def function(
    func: None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """A function that is traced to a graph once per signature, then runs as that graph.

    Tensors and NumPy arrays are arguments of the graph: calls with equal shapes and dtypes share
    it. Python values are part of the signature: a different value needs another trace.

    Args:
        func: the Python function; None for a decorator with options.
        input_signature: TensorSpecs for the arguments: one trace for all calls, which must fit.
        autograph: whether Python control flow on tensors becomes ops.
        jit_compile: accepted: every function runs by machine code from its first call.
        reduce_retracing: whether a second shape makes a trace for all shapes of that rank.
        experimental_implements: accepted and ignored.
        experimental_autograph_options: an `autograph.experimental.Feature`, or several. With
            BUILTIN_FUNCTIONS a `print` of tensors is an op; else it prints what is traced, once.
        experimental_attributes: accepted and ignored.
        experimental_relax_shapes: the older name of `reduce_retracing`.
        experimental_compile: accepted, the older name of `jit_compile`.
        experimental_follow_type_hints: accepted and ignored.

    Returns:
        A `Function`.
    """
    ignored(
        "function",
        "graphs are made and run in one way",
        experimental_implements=experimental_implements,
        experimental_attributes=experimental_attributes,
        experimental_follow_type_hints=experimental_follow_type_hints,
    )
    del jit_compile, experimental_compile
    relax = reduce_retracing or bool(experimental_relax_shapes)
    print_op = False
    if experimental_autograph_options is not None:
        from pinnace.functions.autograph.options import makes_print_an_op

        print_op = makes_print_an_op(experimental_autograph_options)

    def decorate(python_function: Callable[..., Any]) -> Function:
        return Function(
            python_function,
            input_signature,
            autograph,
            relax,
            print_op=print_op,
        )

    return decorate if func is None else decorate(func)
