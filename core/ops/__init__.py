"""All ops, and the operators of tensors.

An op consists of:

- **signature**: `a: T, values: N*T, rest: (Tin), n: int32, h: resource -> y: T, ys: (Tout)`: a
  type attribute, a fixed dtype, `N*T` a list of N tensors of one type, `(Tin)` a list typed by
  a list attribute. Argument names are TensorFlow's: they are written into SavedModels.
- **types**: type attribute -> allowed dtypes: a frozenset, or `typed(frozenset, default=int32)`
  where TensorFlow has a default. They are deduced from the inputs; one that only an output uses
  (`out_type`, `DstT`, `dtype`) is given by keyword.
- **attrs**: the other attributes, name -> `attr(kind, default=…, allowed=…)`; kinds `int float
  bool string shape tensor func type` and `list(kind)`. No default means required. Values: int,
  float, bool, str (bytes if not UTF-8), `Shape`, `np.ndarray`, `FunctionRef`, `DType`, tuples
  of those.
- **infer(call) -> Shape | tuple[Shape, ...]**: one shape per output (flat). `call.inputs` are
  `TensorSpec`s, one per signature argument (a tuple of specs for a list argument);
  `call.attrs`; `call.constant(i)` is the value of argument i as an array if it is known, else
  None: infer must then answer with what it knows. It raises `InvalidArgumentError` for specs
  that cannot be right; use `call.fail("columns of a must equal rows of b", …)`. What depends on
  values is checked by the kernel.
- **kernel(*arrays, attr=…, ctx=…)**: one positional array per signature argument (a tuple for a
  list argument). The attributes, including type attributes as `DType`, that the kernel names as
  keyword-only parameters are handed to it, `ctx` too if it asks; a parameter with a default may
  be one that only some versions of the op have. Returns an array or NumPy
  scalar; a tuple for several outputs; None for none. It never writes into its inputs and may
  return a view of one. With `out=True` in the OpDef the kernel also takes keyword `out`: an
  array to fill and return (of several outputs, the first). NumPy warnings are already silenced.
- **fuse**: the op on single numbers, `"{x} * T(0.5)"`, from which `engine/codegen/` writes
  machine code for hot plans (ADR 7); only functions that `codegen/mathematics.py` has are
  vector code. A kernel with much to do may share pieces with `kernels.team.share`; it never
  starts threads.
- **gradient(call, *dys) -> tuple**: written with ops. `call.inputs` are tensors by signature
  argument, `call.outputs` is a flat tuple, `call.attrs`. One dy per output; it is None where
  nothing flows. Answer one entry per signature argument, None where nothing flows, a sequence
  for a list argument. `NOT_DIFFERENTIABLE` where there is none. An entry may be `IndexedSlices`
  (gathers give them): the walk back adds slices to slices, and makes a tensor of them for any
  op but `Identity` and reads of variables.
- **stateful**: `effect="read" | "write"` with the resource as first argument, or
  `effect="random" | "io"`.
- `registry.define(…)` is the `OpDef` of these fields, registered; builders of families are `unary`,
  `binary`, `comparison`, `reduction`, whose result `register` takes.
- A public function calls `execute_one(OP, x, y, attr=…, name=name)`, or, for an op with no
  attribute to give, `OP.entry(x, y, name)`: the specialised eager entry. They give the one tensor;
  `execute`, which is the same function, also a tuple for several outputs (a list output is one
  tuple) or None for none. Python values are converted to the dtype of the tensors they stand with.
  A public function takes TensorFlow's arguments with TensorFlow's names and defaults, `name` last.
- Ragged and sparse arguments: an elementwise op that is reached with one is the op on its
  values (`execute` hands over to `ops/composites/dispatching.py`); a function that looks at its
  arguments first, or for which rows matter, says what it does with them where it is defined:
  `@takes_composites(ragged="reduction:reduce_sum")`, `@takes_composites(values=1)`.
- What runs up the layers is a name of `late`, imported when it is first used (ADR 17). The
  operators of tensors are bound in `ops/operators.py`.
- An op's converter to ONNX stands in `deploy/onnx/converters/`, in the file of the same name;
  its cases stand in `tests/cases/`, in the same tree.

Rules for families:

- Families may use each other inside gradients and composed functions. They import each other
  **as modules** (`from pinnace.ops.math import reduction`, then `reduction.reduce_sum(...)`),
  never names out of each other: families form cycles, and a module found half-loaded is fine
  while nothing is taken out of it at import time. From `registry`, `opdef`, `execute`,
  `framework` and `kernels` names are imported as usual.
- `array.broadcasting.reduced_to(dy, x, other)` undoes a broadcast. `math.complexes.conj(x)` is x
  itself for real numbers.
- In a gradient, type attributes may be missing from `call.attrs`: ask the dtype of
  `call.inputs[i]`. Other attributes: `call.attr("axis")`.
- A gradient must work when shapes are unknown: use `shapes.shape(x)` (a tensor) where `x.shape`
  is not fully defined.
- A public function that has attributes passes tuples for lists.
"""

from pinnace.ops import array as array
from pinnace.ops import control as control
from pinnace.ops import functional as functional
from pinnace.ops import math as math
from pinnace.ops import nn as nn
from pinnace.ops import operators as operators
from pinnace.ops import random as random
from pinnace.ops import registry
from pinnace.ops import state as state

# Rarely used families, imported in this order when an op is missing.
registry.later.add(
    "pinnace.ops.strings",
    "pinnace.ops.io",
    "pinnace.ops.io.bundles",
    "pinnace.ops.io.json_examples",
    "pinnace.ops.io.protos",
    "pinnace.ops.io.sequence_examples",
    "pinnace.ops.image",
    "pinnace.ops.linalg",
    "pinnace.ops.quantization",
    "pinnace.ops.queue",
    "pinnace.ops.ragged",
    "pinnace.ops.sparse",
    "pinnace.ops.signal",
    "pinnace.ops.dataset",
    "pinnace.ops.summary",
    "pinnace.ops.audio",
    "pinnace.ops.trees",
    "pinnace.ops.text",
    "pinnace.ops.array.earlier",
    "pinnace.ops.array.moved_windows",
    "pinnace.ops.array.nth_elements",
    "pinnace.ops.array.parallel",
    "pinnace.ops.array.replacing",
    "pinnace.ops.array.slice_updates",
    "pinnace.ops.math.accumulation",
    "pinnace.ops.math.bessel",
    "pinnace.ops.math.integrals",
    "pinnace.ops.math.sobol",
    "pinnace.ops.math.sparse_products",
    "pinnace.ops.nn.data_formats",
    "pinnace.ops.nn.pooling.fractional",
    "pinnace.ops.nn.packed_rnn",
    "pinnace.ops.nn.padded_convolutions",
    "pinnace.ops.nn.packed_rnn_back",
    "pinnace.ops.nn.recurrent_blocks",
    "pinnace.ops.random.indices",
    "pinnace.ops.random.truncated",
    "pinnace.ops.state.anonymous_tables",
    "pinnace.ops.state.counting_up",
    "pinnace.ops.state.mutexes",
    "pinnace.ops.state.optimizer_steps",
    "pinnace.ops.strings.shards",
)
