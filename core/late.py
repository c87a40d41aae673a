"""Names of higher layers used by lower ones: every upward edge between layers, in one file.

`late.read_variable(v)` is a call of `read_variable` in `pinnace.ops.state.variables`: its module is
imported when the name is first used, and the function is an ordinary name of this module from then
on. Nothing has to be filled or installed, so nothing can be missing or come too early; a test
resolves each entry, finds each use, and compares `TABLE` with what type checkers are told.

A name is here only if there is no other way for the call to run down. Where two ops are each
other's gradient, the lower one says `GRADIENT_ABOVE` and the higher file defines it
(`registry.gradient_of`); a method that only calls a function above its class is bound to it by the
file above (ADR 60). A test limits the number of pairs of modules that are left.

Beside these, `@takes_composites` (`ops/composite_arguments.py`) names functions of `ops.composites`
where the functions stand that hand ragged and sparse arguments over to them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

# name -> "module:object", or a module.
TABLE: dict[str, str] = {
    # framework: a value to convert may be a list of tensors, which an op stacks.
    "packed": "pinnace.ops.array.packing:packed",
    # framework: a missing name may exist in version 1, whose table few programs load.
    "of_version_1": "pinnace.compat.v1.names:of_version_1",
    # framework: `dtypes.cast` and others are functions in TensorFlow's namespace of dtypes.
    "cast": "pinnace.ops.array.casting:cast",
    "complex": "pinnace.ops.math.complexes:complex",
    "saturate_cast": "pinnace.ops.array.saturation:saturate_cast",
    # framework: methods of variables that read and write by ops. The class is below all ops, since
    # fast paths of arithmetic check whether an operand is a variable.
    "read_variable": "pinnace.ops.state.variables:read_variable",
    "assign": "pinnace.ops.state.variables:assign",
    "assign_add": "pinnace.ops.state.variables:assign_add",
    "assign_sub": "pinnace.ops.state.variables:assign_sub",
    "assign_slice": "pinnace.ops.state.scatters:assign_slice",
    "getitem_of": "pinnace.ops.state.scatters:getitem_of",
    "scatter_batches": "pinnace.ops.state.scatters:scatter_batches",
    "sparse_read": "pinnace.ops.state.scatters:sparse_read",
    "gather_nd_of": "pinnace.ops.state.scatters:gather_nd_of",
    "scatter": "pinnace.ops.state.scatters:scatter",
    "scatter_nd": "pinnace.ops.state.scatters:scatter_nd",
    # ops: undoing a broadcast needs a sum, and sums are above arithmetic, whose gradients undo
    # broadcasts.
    "sum_over": "pinnace.ops.math.reduction:sum_over",
    "reduce_sum": "pinnace.ops.math.reduction:reduce_sum",
    # ops: ragged tensors have ragged shapes; the code is loaded only if one is asked for.
    "answer_of_shapes": "pinnace.ops.composites.ragged.with_shapes:answer_of_shapes",
    "ragged_shape": "pinnace.ops.composites.ragged.with_shapes:ragged_shape",
    # engine: a plan contains the plans of its branches and loops, which are built in the same way.
    "plan_of": "pinnace.engine.build:plan_of",
    # graph: a StableHLO module in a node becomes functions of this library's ops in every reader.
    "decode_xla": "pinnace.saved_model.stablehlo.xla_ops:decode_xla",
    # framework: `config.threading` sets the thread pools of BLAS and of the engine.
    "limit_threads": "pinnace.engine.threads:limit_threads",
    # ops: ops and functions that are given ragged or sparse arguments.
    "execute_on_composites": "pinnace.ops.composites.dispatching:execute_on_composites",
    "call_on_composites": "pinnace.ops.composites.dispatching:call_on_composites",
    # ops: kernels run functions of a graph, and use compiled code.
    "call_function": "pinnace.engine.build:call_function",
    "bind_function": "pinnace.engine.build:bind_function",
    "finish_loop": "pinnace.engine.build:finish_loop",
    "run_alone": "pinnace.engine.build:run_alone",
    "find_kernel": "pinnace.engine.codegen.kernels:find_kernel",
    # autodiff: jacobians are loops.
    "jacobian": "pinnace.functions.jacobian:jacobian",
    "batch_jacobian": "pinnace.functions.jacobian:batch_jacobian",
    # linear_operators: methods of the base class return subclasses, which are loaded on demand.
    "derived_operators": "pinnace.linear_operators.derived_operators",
}
# Modules with specs of composite values, imported if a file has one.
SPEC_MODULES = (
    "pinnace.ops.composites.ragged.spec",
    "pinnace.ops.composites.ragged.row_partition",
    "pinnace.ops.composites.sparse.tensor",
    "pinnace.distribute.values",
    "pinnace.linalg",
)

if TYPE_CHECKING:  # the table again
    from pinnace.compat.v1.names import of_version_1 as of_version_1
    from pinnace.engine.build import bind_function as bind_function
    from pinnace.engine.build import call_function as call_function
    from pinnace.engine.build import finish_loop as finish_loop
    from pinnace.engine.build import plan_of as plan_of
    from pinnace.engine.build import run_alone as run_alone
    from pinnace.engine.codegen.kernels import find_kernel as find_kernel
    from pinnace.engine.threads import limit_threads as limit_threads
    from pinnace.functions.jacobian import batch_jacobian as batch_jacobian
    from pinnace.functions.jacobian import jacobian as jacobian
    from pinnace.linear_operators import derived_operators as derived_operators
    from pinnace.ops.array.casting import cast as cast
    from pinnace.ops.array.packing import packed as packed
    from pinnace.ops.array.saturation import saturate_cast as saturate_cast
    from pinnace.ops.composites.dispatching import call_on_composites as call_on_composites
    from pinnace.ops.composites.dispatching import execute_on_composites as execute_on_composites
    from pinnace.ops.composites.ragged.with_shapes import answer_of_shapes as answer_of_shapes
    from pinnace.ops.composites.ragged.with_shapes import ragged_shape as ragged_shape
    from pinnace.ops.math.complexes import complex as complex
    from pinnace.ops.math.reduction import reduce_sum as reduce_sum
    from pinnace.ops.math.reduction import sum_over as sum_over
    from pinnace.ops.state.scatters import assign_slice as assign_slice
    from pinnace.ops.state.scatters import gather_nd_of as gather_nd_of
    from pinnace.ops.state.scatters import getitem_of as getitem_of
    from pinnace.ops.state.scatters import scatter as scatter
    from pinnace.ops.state.scatters import scatter_batches as scatter_batches
    from pinnace.ops.state.scatters import scatter_nd as scatter_nd
    from pinnace.ops.state.scatters import sparse_read as sparse_read
    from pinnace.ops.state.variables import assign as assign
    from pinnace.ops.state.variables import assign_add as assign_add
    from pinnace.ops.state.variables import assign_sub as assign_sub
    from pinnace.ops.state.variables import read_variable as read_variable
    from pinnace.saved_model.stablehlo.xla_ops import decode_xla as decode_xla

if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> object:
        target = TABLE.get(name)
        if target is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = target.partition(":")
        found = importlib.import_module(module)
        try:
            found = getattr(found, attribute) if attribute else found
        except AttributeError as error:
            raise ImportError(f"late.{name}: {module} has no {attribute!r}") from error
        globals()[name] = found
        return found
