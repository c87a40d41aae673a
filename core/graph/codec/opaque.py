"""Unknown ops, kept as the file describes them so that the model can be loaded.

An op made here has no kernel: running a graph that needs it fails, with its name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pinnace.framework.dtypes import ANY
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import UNKNOWN
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.attrs import decode_attr
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, AttrDef, OpDef, TypeSet, attr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.graph.graph import FunctionRef, Value
    from pinnace.ops.opdef import InferCall
    from pinnace.proto import op_def_pb2

# The attribute of ops inferred from their uses; never written.
INPUTS = "_pinnace_inputs"
_PREFIX = "_pinnace_"
_WORD = re.compile(r"[A-Za-z]\w*", re.ASCII)
_KINDS = frozenset({"int", "float", "bool", "string", "type", "shape", "tensor", "func"})


# The op that holds a StableHLO module; it is decoded into a call of the translated function.
XLA_CALL = "XlaCallModule"
# XLA ops that earlier versions of JAX wrote; each is decoded into a call of its translation.
XLA_OPS = frozenset(
    f"Xla{name}"
    for name in (
        *("Dot", "DotV2", "Conv", "ConvV2", "Gather", "Scatter", "Pad", "Einsum", "If", "While"),
        *("Reduce", "VariadicReduce", "VariadicReduceV2", "ReduceWindow", "SelectAndScatter"),
        *("Sort", "KeyValueSort", "VariadicSort", "BroadcastHelper", "ReducePrecision"),
        *("Sharding", "OptimizationBarrier", "SpmdFullToShardShape", "RngBitGenerator"),
        *("SelfAdjointEig", "Svd"),
    )
)
# All ops that are decoded into calls of translations.
TRANSLATED_XLA = XLA_OPS | {XLA_CALL}
# Why an op will never have a kernel, and what to do instead.
WITHOUT_KERNEL = {
    **dict.fromkeys(
        ("FastWordpieceTokenizeWithOffsets", "TFText>FastWordpieceDetokenize", "FastBertNormalize"),
        "a Fast… tokenizer of TensorFlow Text keeps its vocabulary compiled into bytes of its own\n"
        "  Try: save the model with text.BertTokenizer or text.WordpieceTokenizer",
    ),
    **dict.fromkeys(
        ("TFText>FastSentencepieceTokenize", "TFText>FastSentencepieceDetokenize"),
        "a Fast… tokenizer of TensorFlow Text keeps its model compiled into bytes of its own\n"
        "  Try: save the model with text.SentencepieceTokenizer",
    ),
}
_FAMILIES = (
    (
        ("SimpleML",),
        (
            "it belongs to TensorFlow Decision Forests' training, or to its models of before 0.2\n"
            "  Try: the model exported by ydf's to_tensorflow_saved_model"
        ),
    ),
    (
        ("TPU", "ConfigureDistributedTPU", "_TPU"),
        "it runs on TPUs alone\n  Try: save the model for a processor",
    ),
    (
        ("TRTEngine", "GetCalibrationDataOp"),
        "it holds a program of TensorRT\n  Try: the model as it was before that conversion",
    ),
    (
        ("Cudnn",),
        "it runs on GPUs of Nvidia alone\n  Try: save the model with layers that run anywhere",
    ),
)
_NATIVE = (
    "it comes from a native library; none is ever loaded into this process\n"
    "  Try: save the model without that step, and do it before or after the model"
)
_UNKNOWN = (
    "it is not implemented\n"
    "  Try: a signature that does not reach it, or the model saved without that step"
)


def remedy_for(op: str) -> str:
    """The reason why an op has no kernel, and a remedy."""
    known = WITHOUT_KERNEL.get(op)
    if known is not None:
        return known
    for prefixes, text in _FAMILIES:
        if op.startswith(prefixes):
            return text
    if ">" in op:
        return _NATIVE
    from pinnace.framework import missing_names  # it parses files: for errors alone

    reason = missing_names.reason_of(f"tf.raw_ops.{op}")
    return _UNKNOWN if reason is None else f"{reason.why}\n  Try: {reason.instead}"


def without_kernels(ops: Iterable[str], place: str) -> str:
    """The message about ops without kernels: their names, where the first one is, a remedy.

    Args:
        ops: their names.
        place: a node with the first of them.
    """
    names = sorted(ops)
    remedies = dict.fromkeys(map(remedy_for, names))
    return f"no kernel for {', '.join(names)} (first at {place}): {'; '.join(remedies)}"


def is_own(name: str) -> bool:
    """Whether an attribute is internal to this module and does not belong to the op."""
    return name.startswith(_PREFIX)


def opaque_op(message: op_def_pb2.OpDef, where: str) -> OpDef:
    """An op without kernel from the definition that a SavedModel has of it.

    Raises:
        InvalidArgumentError: the definition is not one.
    """
    types: dict[str, TypeSet] = {}
    attrs: dict[str, AttrDef] = {}
    for one in message.attr:
        if not _WORD.fullmatch(one.name):
            raise InvalidArgumentError(f"{where}: attribute name {one.name!r} is not one")
        default = _default(one, f"{where}, attribute {one.name!r}")
        if one.type == "type":
            types[one.name] = TypeSet(ANY, *default)
        else:
            kind = one.type[5:-1] if one.type.startswith("list(") else one.type
            if kind not in _KINDS:
                raise InvalidArgumentError(
                    f"{where}: attribute {one.name!r} is of unknown kind {one.type!r}"
                )
            attrs[one.name] = attr(one.type, *default)
    counts = {arg.number_attr for arg in (*message.input_arg, *message.output_arg)}
    left = ", ".join(_argument(arg, types, where) for arg in message.input_arg)
    right = ", ".join(_argument(arg, types, where) for arg in message.output_arg)
    return OpDef(
        name=message.name,
        signature=f"{left} -> {right}",
        types=types,
        attrs={name: definition for name, definition in attrs.items() if name not in counts},
        infer=_unknown_shapes,
        kernel=None,
        gradient=NOT_DIFFERENTIABLE,
        effect="io" if message.is_stateful else None,
    )


def op_from_uses(name: str, outputs: Mapping[str, int], first: str) -> OpDef:
    """An op known only by the output names in use.

    Args:
        name: name of the op.
        outputs: output argument -> how many of its tensors are taken.
        first: the output argument to assume if none is used.
    """
    results = dict(outputs) or {first: 1}
    right = ", ".join(f"{out}: ({_PREFIX}{out})" for out in results)
    return OpDef(
        name=name,
        signature=f"input: ({INPUTS}) -> {right}",
        infer=_unknown_shapes,
        kernel=None,
        gradient=NOT_DIFFERENTIABLE,
        effect="io",
    )


def output_types_attr(out: str) -> str:
    """The attribute that holds the dtypes of an output argument, for an op inferred from uses."""
    return f"{_PREFIX}{out}"


def adopt_dtype(value: Value, dtype: DType) -> bool:
    """Give an output the dtype that its consumer expects, if it has none yet."""
    node = value.node
    if INPUTS not in node.attrs:
        return False
    start = 0
    for arg in node.op.outputs:
        kinds = node.attrs[arg.list_attr]
        if value.index < start + len(kinds):
            place = value.index - start
            node.attrs[arg.list_attr] = (*kinds[:place], dtype, *kinds[place + 1 :])
            break
        start += len(kinds)
    value.spec = TensorSpec.of(value.spec.shape, dtype)
    return True


def _unknown_shapes(call: InferCall) -> tuple[Shape, ...]:
    return (UNKNOWN,) * len(call.op.output_dtypes(call.attrs))


def _default(one: op_def_pb2.OpDef.AttrDef, where: str) -> tuple[Any, ...]:
    if not one.HasField("default_value") or one.type == "func":
        return ()  # a function given as default is nameless: no default
    return (decode_attr(one.default_value, one.type, where, _no_function),)


def _no_function(name: str, where: str) -> FunctionRef:
    raise InvalidArgumentError(f"{where}: a default cannot be function {name!r}")


def _argument(arg: op_def_pb2.OpDef.ArgDef, types: Iterable[str], where: str) -> str:
    if not _WORD.fullmatch(arg.name):
        raise InvalidArgumentError(f"{where}: argument name {arg.name!r} is not one")
    if arg.type_list_attr:
        return f"{arg.name}: ({_word(arg.type_list_attr, where)})"
    if arg.type_attr:
        if arg.type_attr not in types:
            raise InvalidArgumentError(
                f"{where}: argument {arg.name!r} has type attribute {arg.type_attr!r}, "
                "which does not exist"
            )
        kind = arg.type_attr
    else:
        kind = decode_dtype(arg.type, f"{where}, argument {arg.name!r}").name
    return (
        f"{arg.name}: {_word(arg.number_attr, where)}*{kind}"
        if arg.number_attr
        else (f"{arg.name}: {kind}")
    )


def _word(name: str, where: str) -> str:
    if not _WORD.fullmatch(name):
        raise InvalidArgumentError(f"{where}: attribute name {name!r} is not one")
    return name
