"""A call of the program, and the changes that apply to all calls with facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from pinnace.deploy.upgrade.arguments import (
    by_place,
    find,
    has_double_star,
    has_star,
    named,
    replaced,
    without,
)
from pinnace.deploy.upgrade.facts import facts

if TYPE_CHECKING:
    from pinnace.deploy.upgrade.facts import Way
    from pinnace.deploy.upgrade.findings import Findings
    from pinnace.deploy.upgrade.naming import Names

# The reason in advice.toml for an argument; for `name=` it depends on the function.
_ARGUMENT_REASONS = {
    "colocate_gradients_with_ops": "colocate_gradients",
    "strict": "strict",
    "use_cudnn_on_gpu": "use_cudnn",
    "family": "family",
    "bad_color": "bad_color",
    "align_corners": "align_corners",
    "tf.contrib.summary.create_file_writer": "writer_name",
    "tf.contrib.summary.generic": "generic_name",
}


@dataclass(frozen=True, slots=True)
class Called:
    """A call in the source.

    Attributes:
        original: the call.
        name: the called function, such as `tf.log`; None if it is not TensorFlow's.
        last: the last part of the function's name; None if it is not a name.
        place: line and column.
        parents_attribute: the attribute that is read from the result, or None.
        names: the program's names.
        findings: where findings are added.
    """

    original: cst.Call
    name: str | None
    last: str | None
    place: tuple[int, int]
    parents_attribute: str
    names: Names
    findings: Findings

    @property
    def shown(self) -> str:
        """The called function's name for messages."""
        return self.name or f"the method {self.last}"

    @property
    def way(self) -> Way | None:
        """The way in which calls of this function are rewritten, or None."""
        found = facts().ways.get(self.name or "")
        return found or facts().ways.get(f"*.{self.last}")

    def written(self, name: str) -> cst.Name | cst.Attribute:
        """A name of TensorFlow at this place, such as `tf.float32`."""
        return self.names.written(name, self.original.func)

    def calling(self, call: cst.Call, name: str) -> cst.Call:
        """The call with another function."""
        func = self.original.func
        new = self.written(name).with_changes(lpar=func.lpar, rpar=func.rpar)
        return call.with_changes(func=new)

    def done(self, what: str) -> None:
        """Record a change."""
        self.findings.done(self.place, what)

    def advise(self, level: str, what: str, reason: str) -> None:
        """Record advice for the user."""
        self.findings.advise(self.place, level, what, reason)


def tell_reasons(called: Called) -> None:
    """Record advice about the call's arguments and methods."""
    table = facts()
    if isinstance(called.original.func, cst.Attribute):
        found = table.reasons.get(f"*.{called.last}")
        if found is not None:
            called.advise(found[0], f"a call of the method {called.last}().", found[1])
    args = called.original.args
    arguments = table.argument_reasons.get(f"*.{called.last}", [])
    for keyword, place, level in table.argument_reasons.get(called.name or "", arguments):
        if find(args, keyword) is not None or place < len(by_place(args)):
            reason = _ARGUMENT_REASONS.get(called.name or "" if keyword == "name" else keyword, "")
            called.advise(level, f"{called.shown}() is given {keyword}.", reason)


def in_new_order(called: Called, call: cst.Call) -> cst.Call:
    """The call with keyword arguments where version 2 has another order."""
    order = facts().orders.get(called.name or "")
    if order is None:
        return call
    places = by_place(call.args)
    if has_star(call.args):
        what = f"{called.name}() has another order of arguments, and is called with *arguments."
        called.advise("WARNING", what, "starred")
        return call
    if len(places) > len(order):
        what = f"{called.name}() takes {len(order)} arguments by place, and is given {len(places)}."
        called.advise("WARNING", what, "too_many")
        return call
    args = list(call.args)
    new = facts().keywords.get(called.name or "", {})
    by_name = [one for one in order[: len(places)] if one]
    if any(find(args, one) or find(args, new.get(one) or one) for one in by_name):
        what = f"{called.name}() is given an argument both by place and by name."
        called.advise("WARNING", what, "too_many")
        return call
    given = []
    for arg, keyword in zip(places, order, strict=False):
        if keyword is not None:
            args = replaced(args, arg, named(arg, keyword))
            given.append(keyword)
    if given:
        called.done(f"{called.name}(): {', '.join(given)} given by name.")
    return call.with_changes(args=args)


def with_new_keywords(called: Called, call: cst.Call) -> cst.Call:
    """The call with version 2's keywords, without those that were removed."""
    keywords = facts().keywords
    table = {**keywords.get(f"*.{called.last}", {}), **keywords.get(called.name or "", {})}
    if not table:
        return call
    if has_double_star(call.args):
        what = f"{called.shown}() has other keywords, and is called with **options."
        called.advise("WARNING", what, "starred")
    for arg in call.args:
        old = "" if arg.keyword is None else arg.keyword.value
        if old not in table:
            continue
        new = table[old]
        if new is None:
            call = without(call, next(one for one in call.args if _is(one, old)))
            called.done(f"{called.shown}(): {old}= removed.")
        elif find(call.args, new) is None:
            args = [named(one, new) if _is(one, old) else one for one in call.args]
            call = call.with_changes(args=args)
            called.done(f"{called.shown}(): {old}= is {new}= now.")
    return call


def _is(arg: cst.Arg, keyword: str) -> bool:
    return arg.keyword is not None and arg.keyword.value == keyword
