"""Rewriting of a program's names and calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import ParentNodeProvider

from pinnace.deploy.upgrade import initializers, ways
from pinnace.deploy.upgrade.arguments import by_place
from pinnace.deploy.upgrade.calls import Called, in_new_order, tell_reasons, with_new_keywords
from pinnace.deploy.upgrade.facts import facts
from pinnace.deploy.upgrade.imports import ImportRewriter
from pinnace.deploy.upgrade.naming import NoRootError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.deploy.upgrade.findings import Findings
    from pinnace.deploy.upgrade.naming import Names
    from pinnace.deploy.upgrade.options import Options

# The ways in facts.json -> their functions.
WAYS: dict[str, Callable[[Called, cst.Call], cst.BaseExpression | None]] = {
    "add_argument": ways.add_argument,
    "add_condition": ways.add_condition,
    "add_step": ways.add_step,
    "cast": ways.cast,
    "dropout": ways.dropout,
    "glimpse": ways.glimpse,
    "iterator": ways.iterator,
    "l1": initializers.l1,
    "l2": initializers.l2,
    "name_scope": ways.name_scope,
    "pool_seed": ways.pool_seed,
    "resize": ways.resize,
    "stop_gradient": ways.stop_gradient,
    "string_split": ways.string_split,
    "uniform_scaling": initializers.uniform_scaling,
    "variance_scaling": initializers.variance_scaling,
    "version_1_if": ways.version_1_if,
    "xavier": initializers.xavier,
}


class Rewriter(ImportRewriter):
    """Rewrites the imports, names and calls of version 1.

    Args:
        names: the program's names.
        options: the options; with `safety` only imports change.
        findings: where findings are added.
    """

    def __init__(self, names: Names, options: Options, findings: Findings) -> None:
        super().__init__(options, findings)
        self._names = names
        self._safety = options.safety
        self._held: set[cst.CSTNode] = set()
        self._told: set[tuple[int, int]] = set()

    @property
    def needs_root(self) -> bool:
        """Whether a name was written that needs `import tensorflow as tf`."""
        return self._names.needs_import

    def visit_Call(self, node: cst.Call) -> None:  # noqa: N802 (the library's names)
        """Record the called function if its arguments determine the new name."""
        called = self._called(node)
        doubtful = facts().doubtful(called.name or "")
        if not self._safety and (called.way is not None or doubtful):
            self._held.add(node.func)

    def leave_Call(  # noqa: N802
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        """The call with version 2's arguments."""
        if self._safety:
            return updated_node
        called = self._called(original_node)
        tell_reasons(called)
        try:
            return self._changed(called, updated_node)
        except NoRootError:
            self._tell_no_root(original_node, called.shown)
        except cst.CSTValidationError:
            what = f"the call of {called.shown} was left as it is."
            self._findings.advise(called.place, "ERROR", what, "too_many")
        return updated_node

    def visit_Attribute(self, node: cst.Attribute) -> bool:  # noqa: N802
        """Record advice about the name; return whether to visit its parts."""
        name = self._names.of(node)
        if name is None:
            return True
        self._tell(node, name)
        held = node in self._held
        return not held and (self._safety or name not in facts().renames)

    def leave_Attribute(  # noqa: N802
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        """The name in version 2."""
        if self._safety or original_node in self._held:
            return updated_node
        try:
            return self._renamed(original_node) or updated_node
        except NoRootError:
            self._tell_no_root(original_node, self._names.of(original_node) or "")
            return updated_node

    def _changed(self, called: Called, call: cst.Call) -> cst.BaseExpression:
        call = in_new_order(called, call)
        way = called.way
        if way is not None and way.way == "version_1_if":
            found = ways.version_1_if(called, call)  # before keywords change: version 1 has the old
            if isinstance(found, cst.Call) and found.func is not call.func:
                return found
            call = found if isinstance(found, cst.Call) else call
        call = with_new_keywords(called, call)
        found = None
        if way is not None and way.way != "version_1_if":
            found = WAYS[way.way](called, call)
        if isinstance(found, cst.Call) and found.func is call.func:
            call, found = found, None  # other arguments for the function's new name
        if found is not None:
            return found
        func = called.original.func
        if func in self._held and isinstance(func, cst.Attribute) and called.name is not None:
            renamed = self._renamed(func, len(by_place(called.original.args)))
            call = call if renamed is None else call.with_changes(func=renamed)
        return call

    def _renamed(self, node: cst.Attribute, places: int | None = None) -> cst.BaseExpression | None:
        name = self._names.of(node)
        new = facts().new_name(name or "", places)
        if name is None or new is None:
            return None
        written = self._names.written(new, node)
        self._findings.done(self._place(node), f"{name} is {new} now.")
        return written.with_changes(lpar=node.lpar, rpar=node.rpar)

    def _called(self, node: cst.Call) -> Called:
        parent = self.get_metadata(ParentNodeProvider, node, None)
        func = node.func
        return Called(
            original=node,
            name=self._names.of(func),
            last=func.attr.value if isinstance(func, cst.Attribute) else None,
            place=self._place(node),
            parents_attribute=parent.attr.value if isinstance(parent, cst.Attribute) else "",
            names=self._names,
            findings=self._findings,
        )

    def _tell(self, node: cst.Attribute, name: str) -> None:
        """Record advice about a name; for `tf.contrib.x` once, without that for `tf.contrib`."""
        table = facts()
        place = self._place(node)
        if name in table.addons:
            what = f"{name} is {table.addons[name]} in TensorFlow Addons."
            self._findings.advise(place, "WARNING", what, "addons")
        elif name in table.reasons and not self._safety:
            level, reason = table.reasons[name]
            self._findings.advise(place, level, f"{name} is used.", reason)
        space = table.space_of(name)
        taken_care_of = not self._safety and (name in table.renames or name in table.ways)
        if space is None or taken_care_of or place in self._told:
            return
        self._told.add(place)
        if name not in table.addons and (self._safety or name not in table.reasons):
            level, reason = table.modules[space]
            self._findings.advise(place, level, f"{name} is used.", reason)

    def _tell_no_root(self, node: cst.CSTNode, name: str) -> None:
        self._findings.advise(self._place(node), "ERROR", f"{name} was left as it is.", "no_root")
