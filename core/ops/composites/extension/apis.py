"""`dispatch_for_api` and related: functions that replace the library's, by argument types."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from typing import TYPE_CHECKING, Any

from pinnace.framework.composite import CompositeTensor
from pinnace.framework.context import name_scope
from pinnace.ops.composites.extension import elementwise, hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.ops.composites.extension.hooks import Checker

__all__ = [
    "dispatch_for_api",
    "dispatch_for_binary_elementwise_apis",
    "dispatch_for_binary_elementwise_assert_apis",
    "dispatch_for_unary_elementwise_apis",
    "unregister_dispatch_for",
]

# Handlers of elementwise functions: (group, types) -> handler.
_handlers: dict[tuple[Any, ...], Callable[..., Any]] = {}
# Registered function -> the hooks that call it, each with its target.
_registered: dict[Callable[..., Any], list[tuple[hooks.Hook, Callable[..., Any]]]] = {}


def dispatch_for_api(api: Callable[..., Any], *signatures: Mapping[Any, Any]) -> Any:
    """A decorator: the function is called instead of `api` for arguments of certain types.

    Args:
        api: a function of the library, such as `concat`.
        *signatures: annotations by parameter of `api` (its name or place), any of which the
            arguments must fit: classes, None, `list[...]` (lists and tuples too) and unions. One
            of the arguments that are named must be composite or of an extension type. Without any,
            the annotations of the function itself.

    Returns:
        A decorator of a function of the parameters of `api`, by the same names and in their order;
        it may leave `name` out.

    Raises:
        ValueError: `api` takes no other functions, a parameter is not one of its own, an
            annotation is none of those, or parameters differ.
        TypeError: a signature is no mapping from parameters to annotations, or what is decorated
            no function.
    """
    inner = hooks.plain_function(api)
    if inner is None or not _is_of_library(inner) or _is_variadic(inspect.signature(inner)):
        raise ValueError(f"dispatch_for_api: {api!r} does not support dispatch")
    wanted = inspect.signature(inner)
    checkers = [_checkers(wanted, signature) for signature in signatures]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise TypeError(f"dispatch_for_api decorates a function, got {function!r}")
        target = _naming(function, wanted)
        _check_parameters(wanted, target)
        found = checkers or [_checkers(wanted, _annotations(function))]
        hook = hooks.put_hook(inner)
        hook.targets.extend([(one, target) for one in found])
        _registered.setdefault(function, []).append((hook, target))
        return function

    return decorate


def dispatch_for_unary_elementwise_apis(x_type: Any) -> Any:
    """A decorator: the function handles elementwise functions of one argument.

    Args:
        x_type: annotation that the argument must fit, as in `dispatch_for_api`.

    Returns:
        A decorator of `handler(api_func, x)`. `api_func` takes the argument alone: all else that
        the function was called with is given to it.

    Raises:
        ValueError: the type has a handler already.
    """
    return _for_group("unary", elementwise.UNARY, x_type)


def dispatch_for_binary_elementwise_apis(x_type: Any, y_type: Any) -> Any:
    """A decorator: the function handles elementwise functions of two arguments.

    Args:
        x_type: annotation that the first must fit, as in `dispatch_for_api`.
        y_type: the type that the second must fit.

    Returns:
        A decorator of `handler(api_func, x, y)`, whose `api_func` takes both arguments.

    Raises:
        ValueError: the types have a handler already.
    """
    return _for_group("binary", elementwise.BINARY, x_type, y_type)


def dispatch_for_binary_elementwise_assert_apis(x_type: Any, y_type: Any) -> Any:
    """A decorator: the function handles assertions about two arguments, element by element.

    Args:
        x_type: annotation that the first must fit, as in `dispatch_for_api`.
        y_type: the type that the second must fit.

    Returns:
        A decorator of `handler(assert_func, x, y)`, whose `assert_func` takes both arguments.

    Raises:
        ValueError: the types have a handler already.
    """
    return _for_group("binary assert", elementwise.ASSERTIONS, x_type, y_type)


def unregister_dispatch_for(dispatch_target: Callable[..., Any]) -> None:
    """Call a function no longer that one of the decorators has registered.

    Args:
        dispatch_target: the function.

    Raises:
        ValueError: the function is not registered.
    """
    found = _registered.pop(dispatch_target, None)
    if found is None:
        raise ValueError(
            f"unregister_dispatch_for: {dispatch_target!r} was not registered with one of the "
            "decorators dispatch_for_*"
        )
    for hook, target in found:
        hook.targets = [one for one in hook.targets if one[1] is not target]
    for hook in {id(hook): hook for hook, _ in found}.values():
        if not hook.targets:
            hooks.remove_hook(hook)
    for key in [key for key, handler in _handlers.items() if handler is dispatch_target]:
        del _handlers[key]


def _for_group(group: str, apis: Mapping[str, str], *kinds: Any) -> Any:
    for kind in kinds:
        _checker(kind)

    def decorate(handler: Callable[..., Any]) -> Callable[..., Any]:
        key = (group, *kinds)
        if key in _handlers:
            raise ValueError(
                f"a {group} elementwise handler ({_handlers[key]!r}) has already been registered "
                f"for {', '.join(map(str, kinds))}\n  Try: unregister_dispatch_for(it)"
            )
        _handlers[key] = handler
        for api in elementwise.functions(apis):
            _register_elementwise(api, handler, kinds)
        return handler

    return decorate


def _register_elementwise(
    api: Callable[..., Any], handler: Callable[..., Any], kinds: tuple[Any, ...]
) -> None:
    inner = hooks.plain_function(api)
    assert inner is not None, api  # noqa: S101 (a test goes over the tables)
    count = len(kinds)
    hook = hooks.put_hook(inner)
    names = hook.names
    alone = "name" in names and len(names) == count + 1

    def target(*args: Any, **kwargs: Any) -> Any:
        bound = hook.signature.bind(*args, **kwargs).arguments
        operands = [bound.pop(name, None) for name in names[:count]]
        name = bound.pop("name", None)
        called = api if alone else functools.partial(_call, api, names[:count], dict(bound))
        if name is None:
            return handler(called, *operands)
        with name_scope(name):
            return handler(called, *operands)

    target.__name__ = target.__qualname__ = f"{handler.__name__}_for_{api.__name__}"
    hook.targets.append(({i: _checker(kind) for i, kind in enumerate(kinds)}, target))
    _registered.setdefault(handler, []).append((hook, target))


def _call(api: Callable[..., Any], names: list[str], rest: dict[str, Any], *operands: Any) -> Any:
    return api(**dict(zip(names, operands, strict=True)), **rest)


def _is_of_library(function: types.FunctionType) -> bool:
    return function.__module__.split(".")[0] == __name__.split(".")[0]


def _is_variadic(signature: inspect.Signature) -> bool:
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    return bool(kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})


def _naming(function: Callable[..., Any], wanted: inspect.Signature) -> Callable[..., Any]:
    """The function with a parameter `name` for a scope, if only the library's function has one."""
    parameters = inspect.signature(function).parameters
    variadic = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if "name" not in wanted.parameters or "name" in parameters or variadic:
        return function
    place = list(wanted.parameters).index("name")

    @functools.wraps(function)
    def naming(*args: Any, **kwargs: Any) -> Any:
        name = kwargs.pop("name", None)
        if place < len(args):
            args, name = (*args[:place], *args[place + 1 :]), args[place]
        if name is None:
            return function(*args, **kwargs)
        with name_scope(name):
            return function(*args, **kwargs)

    own = list(parameters.values())
    own.insert(place, wanted.parameters["name"])
    naming.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return naming


def _check_parameters(wanted: inspect.Signature, function: Callable[..., Any]) -> None:
    found = inspect.signature(function)
    kinds = [parameter.kind for parameter in found.parameters.values()]
    if kinds == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]:
        return
    both = ([(p.name, p.kind) for p in one.parameters.values()] for one in (wanted, found))
    mine, theirs = both
    if mine != theirs:
        raise ValueError(
            f"dispatch_for_api: the function has the parameters {found}, which does not match "
            f"those it stands for: {wanted}"
        )


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        found = typing.get_type_hints(function)
    except (NameError, AttributeError):
        found = dict(function.__annotations__)
    found.pop("return", None)
    if not found:
        raise ValueError(
            "dispatch_for_api must be given a signature, or decorate a function whose parameters "
            "have annotations"
        )
    return found


def _checkers(wanted: inspect.Signature, signature: Any) -> dict[int, Checker]:
    if not isinstance(signature, dict) or not all(isinstance(k, (str, int)) for k in signature):
        raise TypeError(
            "dispatch_for_api: a signature must be a dict of annotations by parameter, "
            f"got {signature!r}"
        )
    names = list(wanted.parameters)
    found = {}
    for key, annotation in signature.items():
        name = names[key] if isinstance(key, int) and key < len(names) else key
        parameter = wanted.parameters.get(name) if isinstance(name, str) else None
        if parameter is None:
            raise ValueError(f"dispatch_for_api: there is no parameter {name!r} in {wanted}")
        if parameter.kind is parameter.KEYWORD_ONLY:
            raise ValueError(f"dispatch_for_api: {name!r} can only be given by name in {wanted}")
        found[names.index(name)] = _checker(annotation)
    return found


def _checker(annotation: Any) -> Checker:
    """A check of a value: None if it does not match, else whether it is composite."""
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in {typing.Union, types.UnionType}:
        options = [_checker(one) for one in inside]
        return lambda value: _any_of(options, value)
    if origin is list and len(inside) == 1:
        each = _checker(inside[0])
        return lambda value: _all_of(each, value)
    if annotation is None:
        annotation = type(None)
    if not isinstance(annotation, type) or origin is not None:
        raise ValueError(
            f"dispatch: the annotation {annotation!r} is not supported; it must be a class, None, "
            "list[...] or a union"
        )
    kind = annotation
    return lambda value: isinstance(value, CompositeTensor) if isinstance(value, kind) else None


def _any_of(options: list[Checker], value: Any) -> bool | None:
    found = [answer for one in options if (answer := one(value)) is not None]
    return any(found) if found else None


def _all_of(each: Checker, value: Any) -> bool | None:
    if not isinstance(value, (list, tuple)):
        return None
    found = [each(one) for one in value]
    return None if None in found else any(found)
