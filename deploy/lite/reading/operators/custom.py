"""Custom operators: TensorFlow's own ops (flex), Example parsing, detection postprocessing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from google.protobuf.message import DecodeError

from pinnace.deploy.lite.files.flexbuffer import flexible
from pinnace.deploy.lite.reading.registry import Call, constant, op, ops, reads
from pinnace.framework import dtypes
from pinnace.framework.errors import UnimplementedError
from pinnace.graph.codec.attrs import decode_attr
from pinnace.graph.codec.nodes import attr_kind
from pinnace.ops import registry
from pinnace.proto.node_def_pb2 import NodeDef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

_FLEX = "Flex"
# Operators of server runtimes, named after TensorFlow's ops and with their attributes as options.
_EXAMPLES = ("ParseExample", "ParseExampleV2")
_DETECTION = "TFLite_Detection_PostProcess"


@reads("CUSTOM")
def custom(call: Call) -> Sequence[Tensor]:
    """The results of a custom operator, by its name."""
    name = call.operator.custom
    if name in _EXAMPLES:
        return _parsed_examples(call)
    if name.startswith(_FLEX):
        return _flex(call)
    if name != _DETECTION:
        call.fail(
            f"it is a custom operator; TensorFlow's ops (Flex...), {', '.join(_EXAMPLES)} and "
            f"{_DETECTION} are read"
        )
    return _detection(call)


def _flex(call: Call) -> Sequence[Tensor]:
    """The results of the NodeDef in its options."""
    parts = flexible(call.operator.payload) if call.operator.payload else None
    if not isinstance(parts, list) or len(parts) < 2 or not isinstance(parts[1], bytes):
        call.damaged("its options must hold its op's name and NodeDef")
    try:
        node = NodeDef.FromString(parts[1])
    except DecodeError:
        call.damaged("its options hold no valid NodeDef")
    definition = registry.lookup(node.op)
    attrs: dict[str, Any] = {}
    for name, value in node.attr.items():
        if not name.startswith("_"):
            kind = attr_kind(definition, name)
            if kind:
                where = f"node {node.name!r:.80}, attribute {name!r:.80}"
                attrs[name] = decode_attr(value, kind, where, _no_function)
    given = [call.stored(index) for index in range(call.count)]
    packed = definition.pack_inputs(given, definition.full_attrs(attrs))
    of_inputs = {one for arg in definition.inputs for one in (arg.type_attr, arg.number_attr)}
    rest = {name: value for name, value in attrs.items() if name not in of_inputs}
    return ops(node.op, *packed, **rest)


def _parsed_examples(call: Call) -> Sequence[Tensor]:
    """Parsed `tf.train.Example` records, by the NodeDef or the numbers of keys in the options."""
    options = flexible(call.operator.payload) if call.operator.payload else None
    if isinstance(options, list):
        return _flex(call)
    name, is_first = call.operator.custom, call.operator.custom == _EXAMPLES[0]
    counts = (b"Nsparse", b"Ndense") if is_first else (b"num_sparse",)
    found = [options.get(key, 0) for key in counts] if isinstance(options, dict) else []
    if not found or not all(isinstance(one, int) and 0 <= one <= call.count for one in found):
        call.damaged("its options do not give the numbers of keys")
    sparse = found[0]
    dense = found[1] if is_first else call.fixed(3).size
    start = 2 + sparse + dense if is_first else 5
    if call.count != start + dense or len(call.operator.outputs) != 3 * sparse + dense:
        call.damaged(f"{sparse} sparse and {dense} dense keys do not match its inputs and outputs")
    if not is_first and call.fixed(4).size:
        call.fail("it has ragged features, which LiteRT does not compute")
    given = [call.stored(index) for index in range(call.count)]
    defaults = given[start:]
    attrs = {
        "sparse_types": [call.dtype(sparse + index) for index in range(sparse)],
        "dense_shapes": [one.shape for one in defaults],
    }
    if is_first:
        keys = given[2 : 2 + sparse], given[2 + sparse : start]
        return ops(name, *given[:2], *keys, defaults, **attrs)
    none: list[Any] = []
    more = {"num_sparse": sparse, "ragged_value_types": none, "ragged_split_types": none}
    return ops(name, *given[:5], defaults, **attrs, **more)


def _no_function(name: str, *_: Any) -> NoReturn:
    raise UnimplementedError(f"it calls the function {name!r:.120}, which the file does not have")


def _detection(call: Call) -> Sequence[Tensor]:
    """Boxes decoded from their anchors, and the best ones after non-maximum suppression.

    If there is one more score than classes, class 0 is the background.
    """
    options = flexible(call.operator.payload) if call.operator.payload else {}

    def option(name: str, default: Any = None) -> Any:
        found = options.get(name.encode(), default) if isinstance(options, dict) else None
        if not isinstance(found, (int, float)):
            call.damaged(f"its options have no {name}")
        return found

    if option("use_regular_nms", False):
        call.fail("it suppresses boxes class by class (use_regular_nms), which is not supported")
    boxes, scores, anchors = (op("Reshape", call.x(n), _shape(-1, m)) for n, m in _sides(call))
    count = int(option("num_classes"))
    # The background's scores come first.
    with_background = scores.shape[-1] or count
    scores = scores[:, with_background - count :]
    y, x, h, w = (boxes[:, n] for n in range(4))
    ya, xa, ha, wa = (anchors[:, n] for n in range(4))
    cy = y / float(option("y_scale")) * ha + ya
    cx = x / float(option("x_scale")) * wa + xa
    high = op("Exp", h / float(option("h_scale"))) * ha * 0.5
    wide = op("Exp", w / float(option("w_scale"))) * wa * 0.5
    corners = op("Pack", [cy - high, cx - wide, cy + high, cx + wide], axis=1)
    most, each = int(option("max_detections")), int(option("max_classes_per_detection", 1))
    if not 0 < each <= count or not most > 0:
        call.damaged(f"it asks for {most} boxes of {each} classes each, of {count} classes")
    threshold = float(option("nms_score_threshold"))
    # TensorFlow's op keeps scores above the threshold, LiteRT's also those equal to it.
    below = constant(threshold, dtypes.float32) - constant(1e-7, dtypes.float32)
    kept, valid = ops(
        "NonMaxSuppressionV4",
        corners,
        op("Max", scores, constant([1], dtypes.int32)),
        constant(most, dtypes.int32),
        constant(float(option("nms_iou_threshold")), dtypes.float32),
        below,
        pad_to_max_output_size=True,
    )
    first = constant(0, dtypes.int32)
    best, classes = ops("TopKV2", op("GatherV2", scores, kept, first), constant(each, dtypes.int32))
    there = op("Less", op("Range", first, constant(most, dtypes.int32), _one()), valid)
    there = op("Cast", op("Reshape", there, _shape(most, 1)), DstT=dtypes.float32)
    found = op("GatherV2", corners, kept, first) * there
    found = op("Reshape", op("Tile", found, _shape(1, each)), _shape(1, most * each, 4))
    labels = op("Cast", classes, DstT=dtypes.float32) * there
    total = op("Cast", valid, DstT=dtypes.float32) * float(each)
    row = _shape(1, most * each)
    return [
        found,
        op("Reshape", labels, row),
        op("Reshape", best * there, row),
        op("Reshape", total, _shape(1)),
    ]


def _sides(call: Call) -> list[tuple[int, int]]:
    """The number of columns of boxes, scores and anchors, each with the input's index."""
    found = []
    for index in range(3):
        size = call.stored(index).shape[-1] if call.rank(index) else None
        if size is None or (index != 1 and size < 4):
            call.fail(f"the last size of its input {index} is unknown or too small")
        found.append((index, int(size)))
    return found


def _shape(*sizes: int) -> Tensor:
    return constant(list(sizes), dtypes.int32)


def _one() -> Tensor:
    return constant(1, dtypes.int32)
