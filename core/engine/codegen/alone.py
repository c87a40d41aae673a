"""Extracts a kernel from Numba's library: its LLVM module alone, and its argument kinds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llvmlite import binding
from numba.core import types

from pinnace.engine.ahead import calling
from pinnace.engine.codegen import entry_points, retargeting

if TYPE_CHECKING:
    from pinnace.engine.codegen.retargeting import Target

# Functions of libc and libm that LLVM may call.
_C_FUNCTIONS = re.compile(
    "memcpy|memmove|memset|bcmp|memcmp|malloc|free|abs|"
    "(a?cosh?|a?sinh?|a?tanh?|atan2|cbrt|ceil|copysign|erfc?|exp2?|expm1|fabs|floor|fma|fmax|fmin|"
    "fmod|frexp|ldexp|lgamma|log|log10|log1p|log2|modf|nearbyint|pow|remainder|rint|round|"
    "roundeven|sincos|sqrt|tgamma|trunc)f?"
)


class UnfitError(Exception):
    """A kernel that cannot be extracted; the message says why."""


def only(dispatcher: Any) -> tuple[Any, str, Any]:
    """The library of the only signature, the function's name in it, and the signature."""
    found = list(dispatcher.overloads.values())
    if len(found) != 1:
        raise UnfitError(f"it has {len(found)} signatures")
    (result,) = found
    return result.library, result.fndesc.llvm_func_name, result.signature


def kind_of(kind: Any) -> str:
    """An argument's kind, in the table's notation."""
    if isinstance(kind, types.Array):
        if kind.layout not in "CA" or not kind.aligned:
            raise UnfitError(f"an array of layout {kind.layout} cannot be handed over")
        return entry_points.kind_of_array(kind_of(kind.dtype), kind.ndim, kind.layout, kind.mutable)
    if isinstance(kind, types.Literal):
        return kind_of(kind.literal_type)
    if not entry_points.is_known(str(kind)):
        raise UnfitError(f"{kind} cannot be handed over")
    return str(kind)


def results_of(kind: Any) -> list[str]:
    """The kinds of a function's results, in the table's notation."""
    if isinstance(kind, types.NoneType):
        return []
    if isinstance(kind, types.BaseTuple):
        members: Any = kind  # Numba's stubs lack its iterator
        return [kind_of(one) for one in members]
    return [kind_of(kind)]


def module_of(library: Any, name: str, symbol: str, other: Target | None = None) -> Any:
    """A copy of a library's module with one public function, renamed.

    Args:
        library: Numba's library.
        name: the function's name in it.
        symbol: its new name.
        other: the target of the copy, if Numba compiled for another one.
    """
    if library.has_dynamic_globals:
        raise UnfitError("it has addresses of this process in it")
    try:
        text = (
            retargeting.retargeted(retargeting.plain(library), other)
            if other
            else library.get_llvm_str()
        )
    except retargeting.ForeignError as error:
        raise UnfitError(str(error)) from error
    # A copy: the process may continue to run the original.
    module = binding.parse_assembly(text)
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == name else "internal"
    module.get_function(name).name = symbol
    return module


def sweep(module: Any, target: Any) -> None:
    """Remove what the kernel does not use: wrappers for Python, and their dependencies."""
    if hasattr(binding, "create_new_module_pass_manager"):
        passes = binding.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.add_strip_dead_prototype_pass()
        options = binding.create_pipeline_tuning_options(speed_level=3)
        passes.run(module, binding.create_pass_builder(target, options))
    else:
        passes = binding.create_module_pass_manager()
        passes.add_global_dce_pass()
        passes.add_strip_dead_prototypes_pass()
        passes.run(module)


def refuse_strange(module: Any) -> None:
    """Check that a module needs only libc, libm and Numba's runtime.

    Raises:
        UnfitError: it needs something else.
    """
    needed = [one.name for one in module.functions if one.is_declaration]
    needed += [one.name for one in module.global_variables if one.is_declaration]
    strange = [one for one in needed if not _is_there(one)]
    if strange:
        raise UnfitError(f"it needs {', '.join(sorted(strange))} of Numba")


def _is_there(name: str) -> bool:
    """Whether a function exists without Numba."""
    is_own = name.startswith("llvm.") or name in entry_points.RUNTIME
    return is_own or _C_FUNCTIONS.fullmatch(name) is not None


def callable_module(
    dispatcher: Any, symbol: str, target: Any, other: Target | None, long_bytes: int
) -> Any:
    """A kernel as an LLVM module, for a library that processes without Numba use.

    Args:
        dispatcher: Numba's dispatcher, with one signature.
        symbol: the symbol of its entry point; see `entry_points`.
        target: LLVM's target machine.
        other: the target, if Numba compiles for another one.
        long_bytes: the size of C's `long` there.

    Raises:
        UnfitError: the kernel needs Numba, or this machine's architecture.
    """
    library, name, signature = only(dispatcher)
    arguments = [kind_of(one) for one in signature.args]
    kernel = calling.kernel_of(symbol)
    text = entry_points.entry_point(
        symbol,
        kernel,
        arguments,
        results_of(signature.return_type),
        releases=bool(dispatcher.targetoptions.get("nogil")),
        long_bytes=long_bytes,
    )
    module = module_of(library, name, kernel, other)
    sweep(module, target)
    refuse_strange(module)
    runtime = entry_points.runtime([one.name for one in module.functions if one.is_declaration])
    for part in filter(None, (text, runtime)):
        # Set before parsing, otherwise LLVM warns about modules for different machines.
        head = f'target datalayout = "{module.data_layout}"\ntarget triple = "{module.triple}"\n'
        module.link_in(binding.parse_assembly(head + part))
    for function in module.functions:
        if not function.is_declaration and function.name not in {symbol, kernel}:
            function.linkage = "internal"
    for one in module.global_variables:
        if not one.is_declaration and one.name != calling.python_of(symbol):
            one.linkage = "internal"
    if "windows" in module.triple:
        # Libraries of Windows export only what they are told to.
        for one in (symbol, kernel):
            module.get_function(one).storage_class = "dllexport"
        module.get_global_variable(calling.python_of(symbol)).storage_class = "dllexport"
    return module
