"""Initializers and regularizers of contrib, and unit scaling, by their successors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from pinnace.deploy.upgrade.arguments import (
    added,
    around,
    by_place,
    expression,
    find,
    has_star,
    in_brackets,
    named,
    replaced,
    without,
)

if TYPE_CHECKING:
    from pinnace.deploy.upgrade.calls import Called

_SCALING = "tf.compat.v1.keras.initializers.VarianceScaling"
_PLACES = ("distribution", "seed", "dtype")


def uniform_scaling(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """Unit scaling as variance scaling with a uniform distribution."""
    factor = find(call.args, "factor")
    if factor is not None:
        call = call.with_changes(args=replaced(call.args, factor, named(factor, "scale")))
    return _scaling(called, added(call, "distribution", expression('"uniform"')))


def xavier(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """Glorot's initializer as variance scaling by the mean of both fans."""
    if has_star(call.args):
        called.advise("WARNING", f"{called.name}() is called with *arguments.", "starred")
        return None
    fixed = [_by_name("scale", "1.0"), _by_name("mode", '"fan_avg"')]
    places = by_place(call.args)
    rest = [_distributed(arg) for arg in call.args if arg not in places]
    given = [
        named(cst.Arg(_chosen(arg.value) if name == "distribution" else arg.value), name)
        for arg, name in zip(places, _PLACES, strict=False)
    ]
    if not places and not any(_keyword(arg) == "distribution" for arg in rest):
        given.append(_by_name("distribution", '"uniform"'))
    first = call.with_changes(args=())
    for arg in (*fixed, *given):
        first = added(first, _keyword(arg), arg.value)
    args = list(first.args)
    if rest:
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        args[-1] = args[-1].with_changes(comma=comma)
    return _scaling(called, call.with_changes(args=[*args, *rest]))


def variance_scaling(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """Variance scaling; contrib's scale was 2 by default, and its modes were in capitals."""
    if has_star(call.args):
        called.advise("WARNING", f"{called.name}() is called with *arguments.", "starred")
        return None
    places = by_place(call.args)
    args = []
    scaled = bool(places)
    for number, arg in enumerate(call.args):
        name = _keyword(arg)
        if name == "factor":
            scaled = True
            args.append(named(arg, "scale"))
        elif name == "mode" or (not name and number == 1):
            args.append(arg.with_changes(value=around("_.lower()", arg.value)))
        elif name == "uniform":
            args.append(_distributed(arg))
        elif not name and number == 2 and arg in places:
            args.append(arg.with_changes(value=_chosen(arg.value)))
        else:
            args.append(arg)
    if not scaled:
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        first = _by_name("scale", "2.0")
        args = [first.with_changes(comma=comma) if args else first, *args]
    return _scaling(called, call.with_changes(args=args))


def l1(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """Keras' L1 regularizer."""
    return _regularizer(called, call, "l1", "_")


def l2(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """Keras' L2 regularizer; contrib's had a factor of one half."""
    return _regularizer(called, call, "l2", "0.5 * _")


def _regularizer(
    called: Called, call: cst.Call, name: str, formula: str
) -> cst.BaseExpression | None:
    if has_star(call.args):
        called.advise("WARNING", f"{called.name}() is called with *arguments.", "starred")
        return None
    for scope in (find(call.args, "scope"), *by_place(call.args)[1:]):
        if scope is not None:
            called.done(f"{called.name}(): the scope is gone.")
            call = without(call, scope)
    places = by_place(call.args)
    scale = find(call.args, "scale") or (places[0] if places else None)
    if scale is not None:
        value = scale.value if formula == "_" else around(formula, scale.value)
        new = scale.with_changes(value=value)
        new = named(new, name) if scale.keyword is not None else new
        call = call.with_changes(args=replaced(call.args, scale, new))
    wanted = f"tf.keras.regularizers.{name}"
    how = "" if formula == "_" else ", of half the scale"
    called.done(f"{called.name} is {wanted} now{how}.")
    return called.calling(call, wanted)


def _scaling(called: Called, call: cst.Call) -> cst.BaseExpression:
    called.done(f"{called.name} is {_SCALING} now.")
    return called.calling(call, _SCALING)


def _by_name(name: str, text: str) -> cst.Arg:
    return named(cst.Arg(expression(text)), name)


def _keyword(arg: cst.Arg) -> str:
    return "" if arg.keyword is None else arg.keyword.value


def _distributed(arg: cst.Arg) -> cst.Arg:
    if _keyword(arg) != "uniform":
        return arg
    return named(arg.with_changes(value=_chosen(arg.value)), "distribution")


def _chosen(value: cst.BaseExpression) -> cst.BaseExpression:
    """The distribution that a flag selects."""
    loose = isinstance(value, cst.IfExp | cst.Lambda | cst.NamedExpr) and not value.lpar
    test = in_brackets(value) if loose else value
    flagged = cst.IfExp(
        test=test, body=expression('"uniform"'), orelse=expression('"truncated_normal"')
    )
    return in_brackets(flagged)
