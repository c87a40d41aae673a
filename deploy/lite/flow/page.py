"""The web page that runs a .tflite file with LiteRT.js.

LiteRT.js 2.5 loads no file with variable input sizes, so the page's copy of the file has those of
its examples: one row if the number of rows is variable.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.files.parsing import parsed
from pinnace.deploy.lite.files.rewriting import rewritten
from pinnace.deploy.lite.ir.kinds import TYPES
from pinnace.deploy.lite.verification.interpreting import Interpreter
from pinnace.deploy.page.contents import Page, check_page
from pinnace.deploy.page.runtimes import LITE
from pinnace.deploy.sampling.reference import reference
from pinnace.deploy.sampling.samples import runs_of
from pinnace.framework.errors import OpError, UnimplementedError
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.flow.report import Precision
    from pinnace.deploy.lite.metadata.making import Known
    from pinnace.deploy.program.sources import Program
    from pinnace.framework.tensor import Array

_TOLERANCE = 1e-4
_STEPS = 1  # sums in another order may round to the next integer


def page_of(
    content: bytes,
    program: Program,
    known: Known,
    sample: Mapping[str, Any] | None,
    precision: Precision | None,
    flex: Sequence[str],
) -> Page:
    """Build the contents of a page.

    Args:
        content: the file.
        program: the program of its first signature.
        known: labels, and the scaling of image inputs.
        sample: inputs to show; None draws random ones.
        precision: the error of a quantised file; None for float32.
        flex: ops that remain TensorFlow ops.

    Raises:
        UnimplementedError: LiteRT.js cannot run the file.
        FailedPreconditionError: ai-edge-litert is missing, and the file is quantised.
    """
    if flex:
        raise UnimplementedError(
            f"export: LiteRT.js has no TensorFlow ops, but the file has {', '.join(flex)}; a page "
            "cannot run it"
        )
    signature = _Signature.of(content, program.signature)
    check_page(LITE, signature.inputs, signature.outputs)
    with reference(plain=program.is_ours):
        fed, wanted = _example(program, sample)
    whole = bool(signature.quantised)
    feeds = {name: signature.given(name, array) for name, array in fed.items()}
    sizes = {name: array.shape for name, array in feeds.items()}
    fixed = with_sizes(
        content,
        program.signature,
        [sizes[name] for name in signature.inputs],
        [wanted[name].shape for name in signature.outputs],
    )
    if whole:
        # The expected quantised outputs are LiteRT's own, as rounding may differ.
        wanted = Interpreter(fixed).run(feeds, program.signature)
    tolerance = _TOLERANCE
    about = f"signature {program.signature}, {len(content):,} bytes"
    if precision is not None:
        about += f", {precision.kind}"
        if not whole:
            tolerance += 2 * precision.largest_relative
    return Page(
        title=program.source,
        about=about,
        model="model.tflite",
        content=fixed,
        inputs={
            name: TensorSpec(feeds[name].shape, spec.dtype, name)
            for name, spec in signature.inputs.items()
        },
        outputs={
            name: TensorSpec(wanted[name].shape, spec.dtype, name)
            for name, spec in signature.outputs.items()
        },
        cases=[(feeds, wanted)],
        tolerance=tolerance,
        labels=known.labels,
        pixels=known.pixels,
        steps={name: _STEPS for name in signature.outputs if name in signature.quantised},
        quantised={
            name: how for name, how in signature.quantised.items() if name in signature.inputs
        },
        more={"signature": program.signature},
    )


def _example(
    program: Program, sample: Mapping[str, Any] | None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Inputs, of one row if the number of rows is variable, and the outputs for them."""
    run = runs_of(program, sample)[0]
    specs = list(program.inputs.values())
    arrays, outputs = run.inputs, run.outputs
    rows = {len(x) for x, spec in zip(arrays, specs, strict=True) if _is_open(spec)}
    if sample is None and len(rows) == 1 and rows != {1}:
        cut = [x[:1] if _is_open(spec) else x for x, spec in zip(arrays, specs, strict=True)]
        with contextlib.suppress(OpError):  # the first axis is not one of rows
            arrays, outputs = cut, program.run(cut)
    return (
        dict(zip(program.inputs, arrays, strict=True)),
        dict(zip(program.outputs, outputs, strict=True)),
    )


def _is_open(spec: TensorSpec) -> bool:
    return bool(spec.shape.rank) and spec.shape[0] is None


@dataclass(frozen=True, slots=True)
class _Signature:
    """The inputs and outputs of a signature in the file.

    Attributes:
        inputs: name -> spec.
        outputs: name -> spec.
        quantised: name of a quantised input or output -> its scale and zero point.
    """

    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]
    quantised: dict[str, tuple[float, int]]

    @staticmethod
    def of(content: bytes, key: str) -> _Signature:
        """Read a signature from a file that was written here."""
        root = parsed(content, "the file")
        (one,) = [x for x in root.list("signature_defs") if x["signature_key"] == key]
        tensors = root.list("subgraphs")[one["subgraph_index"]].list("tensors")
        dtypes = {number: dtype for dtype, number in TYPES.items()}
        quantised: dict[str, tuple[float, int]] = {}
        inputs: dict[str, TensorSpec] = {}
        outputs: dict[str, TensorSpec] = {}
        for side, specs in (("inputs", inputs), ("outputs", outputs)):
            for entry in one.list(side):
                tensor = tensors[entry["tensor_index"]]
                how = tensor["quantization"]
                name = entry["name"]
                specs[name] = TensorSpec(None, dtypes[tensor["type"]], name)
                if how is not None and len(how.list("scale")):
                    zero = how.list("zero_point")
                    quantised[name] = (float(how["scale"][0]), int(zero[0]) if len(zero) else 0)
        return _Signature(inputs, outputs, quantised)

    def given(self, name: str, array: Array) -> Array:
        """An input in the type that the file takes."""
        dtype = self.inputs[name].dtype.numpy
        if name not in self.quantised:
            return array
        scale, zero = self.quantised[name]
        limits = np.iinfo(dtype)
        levels = np.rint(array / scale) + zero
        return np.asarray(levels.clip(limits.min, limits.max), dtype)


def with_sizes(
    content: bytes,
    key: str,
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
) -> bytes:
    """The file with fixed input and output sizes.

    Args:
        content: the file.
        key: the signature's name.
        inputs: shapes of the inputs, in the signature's order.
        outputs: shapes of the outputs.
    """

    def change(model: dict[str, Any]) -> None:
        (one,) = [x for x in model["signature_defs"] if x.fields["signature_key"] == key]
        for subgraph in model["subgraphs"]:
            for tensor in subgraph.fields.get("tensors") or ():
                tensor.fields.pop("shape_signature", None)
        place = one.fields.get("subgraph_index", 0)
        tensors = model["subgraphs"][place].fields["tensors"]
        for side, shapes in (("inputs", inputs), ("outputs", outputs)):
            for entry, shape in zip(one.fields.get(side) or (), shapes, strict=True):
                tensor = tensors[entry.fields.get("tensor_index", 0)]
                tensor.fields["shape"] = list(shape)

    return rewritten(content, "the file", change)
