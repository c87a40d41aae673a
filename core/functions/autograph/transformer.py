"""Source transformation: malt's converters, whose output calls this project's operators.

The converted tree is compiled with the file name and line numbers of the user's source, which
tracebacks, graph nodes and debuggers show.
"""

from __future__ import annotations

import ast
import copy
import functools
import threading
import types
from typing import TYPE_CHECKING, Any, Self

from malt.converters import (
    asserts,
    break_statements,
    call_trees,
    conditional_expressions,
    continue_statements,
    control_flow,
    directives,
    functions,
    logical_expressions,
    return_statements,
    variables,
)
from malt.core import converter, unsupported_features_checker
from malt.lang import directives as malt_directives
from malt.operators import py_builtins
from malt.pyct import anno, cfg, origin_info, parser, qual_names, transpiler
from malt.pyct.static_analysis import activity, reaching_definitions

from pinnace.framework.parsing import in_turn, parsed
from pinnace.functions.autograph import growing_lists, operators, options

if TYPE_CHECKING:
    from collections.abc import Callable


class _Options(converter.ConversionOptions):  # type: ignore[misc]
    """Options in which print and assert are always converted."""

    def uses(self, feature: Any) -> bool:
        """Whether a converter is used."""
        return feature in _ALWAYS or bool(super().uses(feature))

    def call_options(self) -> _Options:
        """The options of functions inside the function."""
        return _Options(
            recursive=self.recursive,
            user_requested=False,
            internal_convert_user_code=self.recursive,
            optional_features=self.optional_features,
        )


_ALWAYS = frozenset({converter.Feature.ASSERT_STATEMENTS, converter.Feature.BUILTIN_FUNCTIONS})
_OPTIONS = _Options(recursive=True, user_requested=True, optional_features=())


class FunctionScope:
    """The scope around the body of a converted function."""

    def __init__(self, function_name: str, scope_name: str, options: Any) -> None:
        self.function_name = function_name
        self.name = scope_name
        self.options = options
        self.callopts = options

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        return

    def ret(self, value: Any, did_return: Any) -> Any:
        """The return value of the function."""
        del did_return
        return None if isinstance(value, operators.UndefinedReturnValue) else value


def with_function_scope(
    thunk: Callable[[FunctionScope], Any], scope_name: str, options: Any
) -> Any:
    """A FunctionScope as an expression, for lambdas."""
    with FunctionScope("lambda_", scope_name, options) as scope:
        return thunk(scope)


class _Directives(directives.DirectivesTransformer):  # type: ignore[misc]
    """Also supports this library's `set_loop_options`."""

    def visit_Expr(self, node: ast.Expr) -> Any:  # noqa: N802 (the name ast calls)
        if isinstance(node.value, ast.Call):
            found = self.visit(node.value.func)
            node.value.func = found
            static = anno.getanno(found, directives.STATIC_VALUE, default=None)
            if static is options.set_loop_options:
                self.state[directives._LoopScope].statements_visited += 1
                self._process_statement_directive(node.value, malt_directives.set_loop_options)
                return None
        return super().visit_Expr(node)


class _Appends(ast.NodeTransformer):
    """`x.append(y)` in a loop becomes `x = ag__.list_append(x, y)` where x is a local variable."""

    def __init__(self) -> None:
        self._locals: list[set[str]] = []
        self._loops: list[int] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self._locals.append(_assigned(node))
        self._loops.append(0)
        node.body = [self.visit(one) for one in node.body]
        self._locals.pop()
        self._loops.pop()
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

    def _visit_loop(self, node: Any) -> Any:
        if self._loops:
            self._loops[-1] += 1
        node = self.generic_visit(node)
        if self._loops:
            self._loops[-1] -= 1
        return node

    visit_For = _visit_loop  # noqa: N815
    visit_While = _visit_loop  # noqa: N815

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        if (
            not self._loops
            or not self._loops[-1]
            or not isinstance(call, ast.Call)
            or len(call.args) != 1
            or call.keywords
            or not isinstance(call.func, ast.Attribute)
            or call.func.attr != "append"
            or not isinstance(call.func.value, ast.Name)
            or call.func.value.id not in self._locals[-1]
        ):
            return self.generic_visit(node)
        name = call.func.value.id
        made = parsed(f"{name} = ag__.list_append({name}, 0)").body[0]
        made.value.args[1] = call.args[0]
        for one in ast.walk(made):
            if not anno.hasanno(one, anno.Basic.ORIGIN):
                origin_info.copy_origin(node, one)
        return made


def _assigned(function: ast.FunctionDef) -> set[str]:
    """The local names that a function assigns to."""
    found: set[str] = set()
    shared: set[str] = set()
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, (ast.Nonlocal, ast.Global)):
            shared.update(node.names)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        pending.extend(ast.iter_child_nodes(node))
    return found - shared


class _Chains(ast.NodeTransformer):
    """`a < b < c` becomes `a < b and b < c` if b is a plain name or number."""

    def visit_Compare(self, node: ast.Compare) -> Any:
        node = self.generic_visit(node)  # type: ignore[assignment]
        middle = node.comparators[:-1]
        if not middle or not all(isinstance(one, (ast.Name, ast.Constant)) for one in middle):
            return node
        left: Any = node.left
        parts: list[ast.expr] = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            parts.append(ast.Compare(left=left, ops=[op], comparators=[right]))
            left = copy.deepcopy(right)
        made = ast.BoolOp(op=ast.And(), values=parts)
        for one in (made, *parts):
            origin_info.copy_origin(node, one)
        return made


class _NamedErrors(ast.NodeTransformer):
    """The name in `except X as name` as a node for malt, or as a string for Python."""

    def __init__(self, as_nodes: bool) -> None:
        self._as_nodes = as_nodes

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        name: Any = node.name
        if self._as_nodes and name is not None:
            made = ast.Name(name, ctx=ast.Store())
            origin_info.copy_origin(node, made)
            node.name = made  # type: ignore[assignment]
        elif isinstance(name, ast.Name):
            node.name = name.id
        return self.generic_visit(node)


class _Conditionals(conditional_expressions.ConditionalExpressionTransformer):  # type: ignore[misc]
    """Also converts nested conditional expressions."""

    def visit_IfExp(self, node: ast.IfExp) -> Any:  # noqa: N802 (the name ast calls)
        return super().visit_IfExp(self.generic_visit(node))


class _Namer:
    """malt's naming, with TensorFlow's `<function>_scope` for a function's scope."""

    def __init__(self, namer: Any, name: str) -> None:
        self._namer = namer
        self._name = name

    def new_symbol(self, base: str, reserved: Any) -> str:
        """A name that is not taken."""
        wanted = f"{self._name}_scope" if base == "fscope" else base
        return self._namer.new_symbol(wanted, reserved)  # type: ignore[no-any-return]


class _Transpiler(transpiler.GenericTranspiler):  # type: ignore[misc]
    """The order of malt's converters."""

    def get_transformed_name(self, node: Any) -> str:
        """`tf__` followed by the name."""
        return f"tf__{super().get_transformed_name(node)}"

    def transform_ast(self, node: Any, ctx: Any) -> Any:
        """The tree converted."""
        unsupported_features_checker.verify(node)
        name = getattr(node, "name", "lambda")
        ctx.namer = _Namer(ctx.namer, name)
        node = _NamedErrors(as_nodes=True).visit(_Appends().visit(_Chains().visit(node)))
        kinds = {type(one) for one in ast.walk(node)}
        flows = not kinds.isdisjoint(_FLOWS)
        node = _resolved(node, ctx) if flows else _marked(node)
        node = functions.transform(node, ctx)
        if flows:
            node = _Directives(ctx).visit(node)
            node = break_statements.transform(node, ctx)
        if ast.Assert in kinds:
            node = asserts.transform(node, ctx)
        if flows:
            node = continue_statements.transform(node, ctx)
            node = return_statements.transform(node, ctx)
        node = call_trees.transform(node, ctx)
        for one in ast.walk(node):
            if isinstance(one, ast.Call):
                one.args = list(one.args)  # malt gives `dict()` a tuple of arguments
        if flows:
            node = control_flow.transform(node, ctx)
        if flows or ast.IfExp in kinds:
            node = _Conditionals(ctx).visit(node)
        node = logical_expressions.transform(node, ctx)
        return _NamedErrors(as_nodes=False).visit(variables.transform(node, ctx))


def _resolved(node: Any, ctx: Any) -> Any:
    """The tree with the scope and the possible definitions of each name."""
    graphs = cfg.build(node)
    node = activity.resolve(qual_names.resolve(node), ctx, None)
    node = reaching_definitions.resolve(node, ctx, graphs)
    anno.dup(node, {anno.Static.DEFINITIONS: anno.Static.ORIG_DEFINITIONS})
    return node


def _marked(node: Any) -> Any:
    """The tree with the mark of names that `variables` looks for: they are of the program."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            anno.setanno(one, anno.Static.ORIG_DEFINITIONS, ())
    return node


# Functions with none of these run from their first statement to their last.
_FLOWS = (ast.For, ast.While, ast.If, ast.Try, ast.Delete)


_transpiler = _Transpiler()
_lock = threading.RLock()
_factories: dict[types.CodeType, _Factory] = {}


def _tree_of(function: types.FunctionType) -> tuple[Any, str]:
    """The converted tree of a function, and its name."""
    context = converter.ProgramContext(options=_OPTIONS)
    node, ctx = in_turn(lambda: _transpiler.transform_function(function, context))
    name = ctx.info.name
    if isinstance(node, (list, tuple)):
        (node,) = node
    if isinstance(node, ast.Lambda):
        node = ast.Assign(targets=[ast.Name(name, ctx=ast.Store())], value=node)
    else:
        node.name = name
    return node, name


# The converted function goes into the inner one, its free variables into the outer one.
_FACTORY = """
def outer_factory():
    def inner_factory(ag__):
        return name
    return inner_factory
"""


class _Factory:
    """Creates functions from one converted code object, for any closure."""

    def __init__(self, function: types.FunctionType) -> None:
        node, self.name = _tree_of(function)
        self.freevars = function.__code__.co_freevars
        module = parsed(_FACTORY)
        outer: Any = module.body[0]
        inner = outer.body[0]
        inner.body.insert(0, node)
        inner.body[1].value.id = self.name
        outer.body[:0] = [
            ast.Assign(targets=[ast.Name(free, ctx=ast.Store())], value=ast.Constant(None))
            for free in self.freevars
        ]
        _place(module, function.__code__.co_firstlineno)
        flags = function.__code__.co_flags & _future_flags()
        code = compile(
            module, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True
        )
        namespace: dict[str, Any] = {}
        exec(code, namespace)
        self.code: types.CodeType = namespace["outer_factory"]().__code__

    def make(self, function: types.FunctionType, called: types.SimpleNamespace) -> Any:
        """The converted function, with the closure and defaults of the original."""
        cells = dict(zip(self.freevars, function.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in self.code.co_freevars)
        factory = types.FunctionType(self.code, function.__globals__, self.name, (), closure)
        made = factory(called)
        made.__defaults__ = function.__defaults__
        made.__kwdefaults__ = function.__kwdefaults__
        made.__module__ = function.__module__
        return called.autograph_artifact(made)


def _future_flags() -> int:
    import __future__

    flags = 0
    for name in __future__.all_feature_names:
        flags |= getattr(__future__, name).compiler_flag
    return flags


def _place(node: ast.AST, line: int) -> None:
    """Set every node's line to that of the user's code from which it, or its parent, was made."""
    origin = (
        anno.getanno(node, anno.Basic.ORIGIN, default=None) if hasattr(node, "_fields") else None
    )
    if origin is not None:
        line = origin.loc.lineno
    if "lineno" in node._attributes:
        node.lineno = line  # type: ignore[attr-defined]
        node.end_lineno = line  # type: ignore[attr-defined]
        node.col_offset = 0  # type: ignore[attr-defined]
        node.end_col_offset = 0  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node):
        _place(child, line)


def convert(
    function: types.FunctionType,
    autograph_artifact: Callable[..., Any],
    converted_call: Callable[..., Any],
) -> Any:
    """The converted function.

    Args:
        function: a plain one.
        autograph_artifact: marks a function as converted.
        converted_call: calls a function, converted if it is a user's.
    """
    code = function.__code__
    with _lock:
        factory = _factories.get(code)
        if factory is None:
            factory = _factories[code] = _Factory(function)
    return factory.make(function, _called(autograph_artifact, converted_call))


def code_of(function: types.FunctionType) -> str:
    """The source of the converted function."""
    node, _ = _tree_of(function)
    return parser.unparse(node, include_encoding_marker=False)  # type: ignore[no-any-return]


def call_in_frame(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], scope: Any) -> Any:
    """Call super(), eval, globals() or locals() in the frame of the original function."""
    if kwargs:
        return f(*args, **kwargs)
    if f is super:
        return py_builtins.super_in_original_context(f, args, scope)
    if f is eval:
        return py_builtins.eval_in_original_context(f, args, scope)
    if f is globals:
        return py_builtins.globals_in_original_context(scope)
    return py_builtins.locals_in_original_context(scope)


@functools.cache
def _called(
    autograph_artifact: Callable[..., Any], converted_call: Callable[..., Any]
) -> types.SimpleNamespace:
    """The namespace that converted code calls `ag__`."""
    return types.SimpleNamespace(
        ConversionOptions=converter.ConversionOptions,
        Feature=converter.Feature,
        FunctionScope=FunctionScope,
        STD=converter.STANDARD_OPTIONS,
        Undefined=operators.Undefined,
        UndefinedReturnValue=operators.UndefinedReturnValue,
        and_=operators.and_,
        assert_stmt=operators.assert_stmt,
        autograph_artifact=autograph_artifact,
        converted_call=converted_call,
        eq=operators.eq,
        for_stmt=operators.for_stmt,
        if_exp=operators.if_exp,
        if_stmt=operators.if_stmt,
        ld=operators.ld,
        ldu=operators.ldu,
        list_append=growing_lists.list_append,
        not_=operators.not_,
        not_eq=operators.not_eq,
        or_=operators.or_,
        while_stmt=operators.while_stmt,
        with_function_scope=with_function_scope,
    )
