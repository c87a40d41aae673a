"""Which functions are converted, and calls between converted functions.

malt is imported at the first conversion.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import threading
import types
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from pinnace.framework.context import state
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import Operands, Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.autograph import operators
from pinnace.functions.autograph.options import log, print_is_op, verbosity

if TYPE_CHECKING:
    from collections.abc import Callable

_Entity = TypeVar("_Entity")

__all__ = ["callback", "converted", "do_not_convert", "to_code", "to_graph"]


# Libraries that are never converted.
_LIBRARIES = frozenset(
    {*sys.stdlib_module_names, "pinnace", "numpy", "malt", "optree", "ml_dtypes", "absl"}
)
# The converted function, by the original; None: it runs unconverted.
_converted: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
# Attributes of the first argument that decide whether a function needs to be converted.
_needs: weakref.WeakKeyDictionary[Any, tuple[str, ...]] = weakref.WeakKeyDictionary()
_warned: set[object] = set()
_lock = threading.RLock()
# Set on functions that are converted already, or must not be.
_MARK = "_autograph_artifact"


def autograph_artifact(entity: _Entity, extras: Any = None) -> _Entity:
    """Mark a function as part of converted code."""
    del extras
    target = entity.__func__ if inspect.ismethod(entity) else entity
    setattr(target, _MARK, True)
    return entity


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Exclude a function, and everything it calls, from AutoGraph.

    Args:
        func: the function; None for a decorator.
    """
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        saved, state.convert = state.convert, _as_it_is
        try:
            return func(*args, **kwargs)
        finally:
            state.convert = saved

    return autograph_artifact(wrapper)


def _as_it_is(function: Any) -> Any:
    """`do_not_convert`'s substitute for `callback`."""
    return function


def converted_as_around(function: Callable[..., Any]) -> Callable[..., Any]:
    """`converted` for a function that library code traces, unless inside of `do_not_convert`."""
    return function if state.convert is _as_it_is else converted(function)


def converted(function: Callable[..., Any], print_op: bool | None = None) -> Callable[..., Any]:
    """A function for a tracer to call: Python control flow on tensors in it becomes ops.

    The function itself is converted if it has control flow, or calls functions that may have;
    otherwise it is called unchanged, and malt is not even imported.

    Args:
        function: the function.
        print_op: whether `print` of tensors becomes an op too, in what it calls as well; None: if
            it does where this is called.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        saved, state.convert = state.convert, callback
        token = print_is_op.set(print_is_op.get() if print_op is None else print_op)
        try:
            return converted_call(function, args, kwargs)
        finally:
            print_is_op.reset(token)
            state.convert = saved

    return run


def callback(function: Any) -> Any:
    """A user's function for library code to call: converted if the calling code was."""
    if state.convert is not callback or function is None or getattr(function, _MARK, False):
        return function
    if not callable(function) or _is_library(function):
        return function

    def run(*args: Any, **kwargs: Any) -> Any:
        return converted_call(function, args, kwargs)

    return run


def converted_call(f: Any, args: tuple[Any, ...], kwargs: Any, scope: Any = None) -> Any:
    """f(*args, **kwargs), converted if it is a user's function."""
    kwargs = kwargs or {}
    if state.convert is not callback or getattr(f, _MARK, False):
        return f(*args, **kwargs)
    overload = _overload(f)
    if overload is not None:
        return overload(*args, **kwargs)
    if isinstance(f, functools.partial):
        return converted_call(f.func, (*f.args, *args), {**f.keywords, **kwargs}, scope)
    if f in _FRAMES and scope is not None:
        return _in_frame(f, args, kwargs, scope)
    if _is_library(f):
        return f(*args, **kwargs)
    target, first = _function_of(f)
    if target is None:
        return f(*args, **kwargs)
    made = _conversion_of(target, first)
    if made is None:
        return f(*args, **kwargs)
    return made(*first, *args, **kwargs)


_FRAMES = (super, eval, globals, locals)


def _overload(f: Any) -> Any:
    try:
        return operators.OVERLOADS.get(f)
    except TypeError:  # something that cannot be hashed
        return None


def _in_frame(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], scope: Any) -> Any:
    """Call built-ins that inspect their caller's frame."""
    from pinnace.functions.autograph import transformer

    return transformer.call_in_frame(f, args, kwargs, scope)


def _is_library(f: Any) -> bool:
    """Whether it is called unconverted: a built-in, class, library function or `tf.function`."""
    if inspect.isbuiltin(f) or isinstance(f, (type, types.MethodWrapperType)):
        return True
    # Decorated functions have the __module__ of the wrapped function, but the globals of the
    # decorator.
    if isinstance(f, types.MethodType):
        f = f.__func__
    elif not isinstance(f, types.FunctionType):
        # A callable object: its class's __call__ decides.
        f = inspect.getattr_static(type(f), "__call__", None)
    if isinstance(f, types.FunctionType):
        name = f.__globals__.get("__name__", "")  # `exec` in a plain dict: it has no name
    else:
        name = getattr(f, "__module__", None)
    return name is None or name.split(".", 1)[0] in _LIBRARIES


def _function_of(f: Any) -> tuple[Any, tuple[Any, ...]]:
    """The plain function of a callable, and its bound leading arguments (`self`)."""
    if isinstance(f, types.MethodType):
        inner = f.__func__
        return (inner, (f.__self__,)) if isinstance(inner, types.FunctionType) else (None, ())
    if isinstance(f, types.FunctionType):
        return f, ()
    call = inspect.getattr_static(type(f), "__call__", None)
    if isinstance(call, types.FunctionType):
        return call, (f,)
    return None, ()


def _conversion_of(function: types.FunctionType, first: tuple[Any, ...]) -> Any:
    """The converted function; None if it runs unconverted with these leading arguments."""
    if getattr(function, _MARK, False):
        return None
    wrapped = function.__dict__.get("__wrapped__")
    if wrapped is not None and function.__module__ is None:
        return None
    with _lock:
        if function in _converted:
            return _converted[function]
        if not needs_conversion(function, *first):
            return None
        made = _converted[function] = _convert(function)
        return made


def _convert(function: types.FunctionType) -> Any:
    from pinnace.functions.autograph import transformer

    try:
        made = transformer.convert(function, autograph_artifact, converted_call)
    except Exception as error:
        # If malt fails, the original function is used.
        key = function.__code__
        if key not in _warned:
            _warned.add(key)
            log.warning(
                "AutoGraph could not convert %s and runs it as it is: %s: %s\n"
                "  Python control flow in it works on Python values only.\n"
                "  To silence this: autograph.experimental.do_not_convert",
                _described(function),
                type(error).__name__,
                error,
            )
        return None
    if verbosity() > 0:
        log.debug("AutoGraph converted %s", _described(function))
    return made


def _described(function: Any) -> str:
    code = function.__code__
    return f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"


# Whether there is anything to convert.


def needs_conversion(function: types.FunctionType, *first: Any) -> bool:
    """Whether a function has control flow, or may call a user's function that has.

    Args:
        function: the function.
        first: the object that it is a method of, if any.
    """
    names = _needs.get(function)
    if names is None:
        found = _looks_convertible(function)
        names = _needs[function] = (_ANYTHING,) if found is None else tuple(found)
    return not all(
        bool(first) and _is_harmless(inspect.getattr_static(first[0], name, _UNKNOWN))
        for name in names
    )


# An attribute that no object has.
_ANYTHING = ""
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_TENSOR_NAMES = frozenset({*dir(Tensor), *dir(Variable), *dir(Operands)})


def _looks_convertible(function: types.FunctionType) -> set[str] | None:  # noqa: C901 (one case per instruction)
    """The attributes of its first argument that must need no conversion; None: it is converted."""
    code = function.__code__
    if code.co_flags & _GENERATORS:
        return set()
    instructions = list(dis.get_instructions(code))
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    itself = code.co_varnames[0] if code.co_argcount else None
    # Of the object on top of the stack: it belongs to a library, or is the first argument.
    is_known = is_first = False
    attributes: set[str] = set()
    others = False
    for index, one in enumerate(instructions):
        name = one.opname
        was_known, is_known = is_known, False
        was_first, is_first = is_first, False
        if "JUMP" in name and "NO_INTERRUPT" not in name:
            return None
        if name in {
            "FOR_ITER",
            "UNARY_NOT",
            "LOAD_ASSERTION_ERROR",
            "MAKE_FUNCTION",
            "IMPORT_NAME",
        }:
            return None
        if name in {"LOAD_GLOBAL", "LOAD_NAME"}:
            if not _is_harmless(_global(function, one.argval)):
                return None
            is_known = True
        elif name in {"LOAD_DEREF", "LOAD_CLASSDEREF"}:
            if one.argval not in cells or not _is_harmless(_content(cells[one.argval])):
                return None
        elif name.startswith("STORE_FAST") and itself in _names_of(one.argval):
            itself = None
            others |= bool(attributes)
        elif name.startswith("LOAD_FAST"):
            around = instructions[max(index - 1, 0) : index + 2]
            if any(other.opname == "PUSH_NULL" for other in around):
                return None  # a call of an argument
            is_first = itself is not None and one.argval == itself
        elif name in {"LOAD_METHOD", "LOAD_ATTR"}:
            before = instructions[index - 1].opname if index else ""
            if was_known:
                is_known = True
            elif one.argval in _TENSOR_NAMES:
                pass
            elif was_first:
                attributes.add(one.argval)
            elif before.startswith(("LOAD_FAST", "LOAD_DEREF")):
                return None  # perhaps a method of the user's
            else:
                others = True
    return None if others and attributes else attributes


def _names_of(argument: Any) -> tuple[str, ...]:
    return argument if isinstance(argument, tuple) else (argument,)


def _global(function: types.FunctionType, name: str) -> Any:
    if name in function.__globals__:
        return function.__globals__[name]
    builtins = function.__globals__.get("__builtins__", {})
    table = builtins if isinstance(builtins, dict) else vars(builtins)
    return table.get(name, _UNKNOWN)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _UNKNOWN


_UNKNOWN = object()


def _is_harmless(value: Any) -> bool:
    """Whether no use of the name can require conversion."""
    if value is _UNKNOWN:
        return False
    if isinstance(value, (Tensor, Variable, bool, int, float, complex, str, bytes, type(None))):
        return True
    if isinstance(value, types.ModuleType):
        return value.__name__.split(".", 1)[0] in _LIBRARIES
    if not callable(value):
        return not hasattr(value, "__dict__") and not isinstance(value, (list, dict, tuple))
    return _overload(value) is None and value not in _FRAMES and _is_library(value)


# The public functions.


def to_graph(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: Any = None
) -> Callable[..., Any]:
    """A function converted: to be called while a function is traced, or eagerly.

    Args:
        entity: a function or method.
        recursive: accepted for TensorFlow's sake: called functions are always converted.
        experimental_optional_features: accepted for TensorFlow's sake.

    Raises:
        ValueError: the argument is no function, or has no source.
    """
    why = "what it calls is converted when it is called"
    ignored("autograph.to_graph", why, True, recursive=recursive)
    ignored(
        "autograph.to_graph", why, experimental_optional_features=experimental_optional_features
    )
    from pinnace.functions.autograph import transformer

    entity = getattr(entity, "python_function", entity)
    target, first = _function_of(entity)
    if target is None:
        raise ValueError(f"autograph.to_graph: expected a function, got {entity!r}")
    try:
        made = transformer.convert(target, autograph_artifact, converted_call)
    except Exception as error:
        raise ValueError(
            f"autograph.to_graph: {_described(target)} cannot be converted: {error}"
        ) from error

    @functools.wraps(target)
    def run(*args: Any, **kwargs: Any) -> Any:
        saved, state.convert = state.convert, callback
        try:
            return made(*first, *args, **kwargs)
        finally:
            state.convert = saved

    return autograph_artifact(run)


def to_code(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: Any = None
) -> str:
    """The source of a function after its conversion.

    Args:
        entity: a function or method.
        recursive: accepted for TensorFlow's sake.
        experimental_optional_features: accepted for TensorFlow's sake.

    Raises:
        ValueError: the argument is no function, or has no source.
    """
    why = "what it calls is converted when it is called"
    ignored("autograph.to_code", why, True, recursive=recursive)
    ignored("autograph.to_code", why, experimental_optional_features=experimental_optional_features)
    from pinnace.functions.autograph import transformer

    entity = getattr(entity, "python_function", entity)
    target, _ = _function_of(entity)
    if target is None:
        raise ValueError(f"autograph.to_code: expected a function, got {entity!r}")
    try:
        return transformer.code_of(target)
    except Exception as error:
        raise ValueError(
            f"autograph.to_code: {_described(target)} cannot be converted: {error}"
        ) from error
