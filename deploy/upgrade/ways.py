"""Functions whose calls need more than new names: one function per way in facts.json.

A way takes the call and the facts about it, and returns its replacement; None applies only the
function's new name, if there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from pinnace.deploy.upgrade.arguments import (
    added,
    around,
    by_place,
    find,
    has_double_star,
    has_star,
    named,
    replaced,
    without,
)

if TYPE_CHECKING:
    from pinnace.deploy.upgrade.calls import Called

_TEXTS = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
_NAMED = {"float": "float32", "double": "float64"}
_PLACE_OF_NOISE = 5
_PLACE_OF_RESULT_TYPE = 3


def version_1_if(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """The function of version 1 if an argument asks for behaviour that version 2 lacks."""
    way = called.way
    assert way is not None  # noqa: S101 (the caller checked it)
    arg = find(call.args, way.argument)
    if arg is None:
        return None
    if is_text(arg.value) if way.fine == "text" else is_literal(arg.value, way.fine):
        if not way.remove:
            return None
        called.done(f"{called.name}(): {way.argument}= removed: it is always {way.fine} now.")
        return without(call, arg)
    new = version_1(called.name)
    called.done(f"{called.name} is {new} now: version 2 has no {way.argument}= of that kind.")
    return called.calling(call, new)


def add_argument(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """An additional argument that version 1 lacks."""
    way = called.way
    assert way is not None  # noqa: S101 (the caller checked it)
    if find(call.args, way.argument) is not None or has_double_star(call.args):
        return None
    called.done(f"{called.name}(): {way.argument}={way.value!r} added.")
    return added(call, way.argument, cst.SimpleString(repr(way.value)))


def iterator(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """`dataset.make_one_shot_iterator()` as a function of the dataset."""
    func = call.func
    if called.name is not None or not isinstance(func, cst.Attribute):
        return None
    new = f"tf.compat.v1.data.{called.last}"
    written = called.names.written(new, called.original.func)
    what = f"the method {called.last}() is {new}(dataset) now."
    called.advise("WARNING", what, "iterator")
    first = cst.Arg(func.value)
    if call.args:
        first = first.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    return call.with_changes(func=written, args=[first, *call.args])


def dropout(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """The rate of dropped elements instead of the rate of kept ones."""
    old = find(call.args, "keep_prob")
    if old is not None:
        called.done("tf.nn.dropout(): keep_prob= is rate= now, 1 less the old value.")
        new = named(old.with_changes(value=around("1 - _", old.value)), "rate")
        return call.with_changes(args=replaced(call.args, old, new))
    if find(call.args, "rate") is not None:
        return None
    places = by_place(call.args)
    if has_star(call.args) or len(places) < 2:
        called.advise("ERROR", "tf.nn.dropout() is given neither keep_prob nor rate.", "dropout")
        return None
    called.done("tf.nn.dropout(): the second argument is rate= now, 1 less the old value.")
    names = ("rate", "noise_shape", "seed", "name")
    for arg, name in reversed(list(zip(places[1:], names, strict=False))):
        value = around("1 - _", arg.value) if name == "rate" else arg.value
        new = named(arg.with_changes(value=value), name)
        call = call.with_changes(args=replaced(call.args, arg, new))
    return call


def cast(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """`tf.to_float(x)` as `tf.cast(x, dtype=tf.float32)`."""
    kind = (called.last or "").removeprefix("to_")
    dtype = f"tf.{_NAMED.get(kind, kind)}"
    places = by_place(call.args)
    if has_star(call.args) or has_double_star(call.args):
        return None  # version 1's name remains available
    if len(places) > 1:
        call = call.with_changes(args=replaced(call.args, places[1], named(places[1], "name")))
    called.done(f"{called.name}(x) is tf.cast(x, dtype={dtype}) now.")
    return called.calling(added(call, "dtype", called.written(dtype)), "tf.cast")


def stop_gradient(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """Labels without a gradient, as in version 1."""
    labels = find(call.args, "labels")
    if labels is None:
        return None
    value = labels.value
    if isinstance(value, cst.Call) and _last(value.func) == "stop_gradient":
        return None
    bare = isinstance(value, cst.GeneratorExp)
    new = cst.Call(called.written("tf.stop_gradient"), [cst.Arg(value)])
    if bare:
        return None
    called.done(f"{called.name}(): labels= are in tf.stop_gradient() now, as they were inside.")
    return call.with_changes(args=replaced(call.args, labels, labels.with_changes(value=new)))


def resize(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """`tf.image.resize` with a method instead of `tf.image.resize_bilinear` and the like."""
    half = find(call.args, "half_pixel_centers")
    unknown = has_star(call.args) or has_double_star(call.args)
    if unknown or (half is not None and not is_literal(half.value, "True")):
        new = version_1(called.name)
        called.done(f"{called.name} is {new} now: version 2 takes the centres of pixels.")
        return called.calling(call, new)
    names = ("images", "size", "align_corners", "name", "half_pixel_centers")
    for arg, name in reversed(list(zip(by_place(call.args), names, strict=False))[2:]):
        call = call.with_changes(args=replaced(call.args, arg, named(arg, name)))
    for gone in ("align_corners", "half_pixel_centers"):
        arg_gone = find(call.args, gone)
        call = call if arg_gone is None else without(call, arg_gone)
    method = f"tf.image.ResizeMethod.{(called.last or '').removeprefix('resize_').upper()}"
    called.done(f"{called.name}() is tf.image.resize(method={method}) now.")
    return called.calling(added(call, "method", called.written(method)), "tf.image.resize")


def pool_seed(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """One seed instead of two seeds and a flag."""
    flag = find(call.args, "deterministic")
    if flag is not None and not is_literal(flag.value, "False"):
        if find(call.args, "seed") is None:
            called.done(f"{called.name}(): seed=42 added, since it was deterministic.")
            call = added(call, "seed", cst.Integer("42"))
        else:
            what = f"{called.name}() is given deterministic= and seed=."
            called.advise("WARNING", what, "deterministic")
    for name in ("seed2", "deterministic"):
        gone = find(call.args, name)
        if gone is not None:
            called.done(f"{called.name}(): {name}= removed.")
            call = without(call, gone)
    return call


def glimpse(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """The kind of noise as a string."""
    old = find(call.args, "uniform_noise")
    places = by_place(call.args)
    if old is None and len(places) > _PLACE_OF_NOISE and not has_star(call.args):
        old = places[_PLACE_OF_NOISE]
    if old is None or (old.keyword is None and _is_text(old.value)):
        return None
    called.done(f"{called.name}(): uniform_noise= is noise= now, by name.")
    new = old.with_changes(value=around("'uniform' if _ else 'gaussian'", old.value))
    new = named(new, "noise") if old.keyword is not None else new
    return call.with_changes(args=replaced(call.args, old, new))


def _is_text(value: cst.BaseExpression) -> bool:
    """Whether an expression is a string, or a choice of strings as this script writes it."""
    if isinstance(value, cst.IfExp):
        return _is_text(value.body) and _is_text(value.orelse)
    return isinstance(value, _TEXTS)


def name_scope(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """Scopes that can be re-entered remain version 1's; a default name becomes the name."""
    places = by_place(call.args)
    if has_star(call.args) or has_double_star(call.args):
        return _version_1_scope(called, call)
    by_name = [find(call.args, "name"), find(call.args, "default_name")]
    name, default = (
        arg or (places[place] if place < len(places) else None) for place, arg in enumerate(by_name)
    )
    if name is not None and not is_literal(name.value, "None"):
        # With a name only, the call is the same in both versions.
        return None if len(call.args) == 1 and name.keyword else _version_1_scope(called, call)
    if default is None:
        called.advise("ERROR", "tf.name_scope() is given no name.", "name_scope")
        return None
    called.done("tf.name_scope(): default_name= is name= now.")
    last = cst.Arg(default.value)
    return call.with_changes(args=[named(last, "name")])


def _version_1_scope(called: Called, call: cst.Call) -> cst.BaseExpression:
    called.done("tf.name_scope is tf.compat.v1.name_scope now, which can enter a scope again.")
    return called.calling(call, "tf.compat.v1.name_scope")


def string_split(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """Ragged results of version 2 converted to sparse ones as in version 1."""
    kind = find(call.args, "result_type")
    source = find(call.args, "source")
    sparse = kind is not None and is_literal(kind.value, "'SparseTensor'")
    by_its_place = len(by_place(call.args)) > _PLACE_OF_RESULT_TYPE
    unknown = has_star(call.args) or has_double_star(call.args) or by_its_place
    if unknown or (kind is not None and not sparse):
        # Without result_type, the next upgrade would take the call for one of version 1.
        new = version_1(called.name)
        called.done(f"{called.name} is {new} now: version 2 has no result_type=.")
        return called.calling(call, new)
    if called.parents_attribute == "to_sparse":
        return None
    if kind is not None:
        call = without(call, kind)
    if source is not None:
        source = next(arg for arg in call.args if arg.value is source.value)
        call = call.with_changes(args=replaced(call.args, source, named(source, "input")))
    called.done(f"{called.name}() gives a ragged tensor now; to_sparse() added.")
    inner = call.with_changes(lpar=[], rpar=[])
    return cst.Call(cst.Attribute(inner, cst.Name("to_sparse")), lpar=call.lpar, rpar=call.rpar)


def add_condition(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """A condition for recording always or never."""
    way = called.way
    assert way is not None  # noqa: S101 (the caller checked it)
    called.done(f"{called.name}() is tf.compat.v2.summary.record_if({way.value}) now.")
    return called.calling(added(call, "", cst.Name(way.value)), "tf.compat.v2.summary.record_if")


def add_step(called: Called, call: cst.Call) -> cst.BaseExpression | None:
    """A summary with a step."""
    if find(call.args, "step") is not None:
        return None
    called.advise("WARNING", f"{called.name}() is given the global step.", "summary_step")
    step = cst.Call(called.written("tf.compat.v1.train.get_or_create_global_step"))
    return added(call, "step", step)


def version_1(name: str | None) -> str:
    """`tf.compat.v1.log` for `tf.log`."""
    return f"tf.compat.v1.{(name or '').removeprefix('tf.')}"


def is_text(value: cst.BaseExpression) -> bool:
    """Whether an expression is a string literal."""
    return isinstance(value, _TEXTS)


def is_literal(value: cst.BaseExpression, text: str) -> bool:
    """Whether an expression is this name, or this string in any quotes."""
    if isinstance(value, cst.SimpleString):
        return repr(value.evaluated_value) == text
    return isinstance(value, cst.Name) and value.value == text


def _last(node: cst.CSTNode) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else ""
