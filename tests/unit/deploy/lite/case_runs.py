"""An example of an OpCase: written as a .tflite file, run by LiteRT, compared with the kernel."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pinnace.deploy.lite import export
from pinnace.deploy.lite.reading.saving import functions_of
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.framework import dtypes
from pinnace.framework.errors import UnimplementedError
from support.opcase import OpCase, is_float
from unit.deploy.onnx.one_op import arguments, function_of

Array = npt.NDArray[Any]


def runs_as_the_kernel(
    case: OpCase,
    xs: tuple[Any, ...],
    attrs: Mapping[str, Any],
    wanted: tuple[Array, ...],
    *,
    sizes_known: bool,
    constants: set[int],
) -> str:
    """Return the reason why the op was refused; empty if the file ran with the expected results.

    The file, read again, gives LiteRT's results.

    Args:
        case: the case with the op to export.
        xs: its inputs.
        attrs: its attributes.
        wanted: the expected outputs.
        sizes_known: whether the model's inputs have known sizes, or only ranks.
        constants: the arguments that are written into the model.

    Raises:
        AssertionError: the results differ.
    """
    function = function_of(case.op, xs, attrs, sizes_known=sizes_known, constants=constants)
    try:
        report = export(function, verify=False)
    except UnimplementedError as error:
        return str(error)
    assert report.content is not None
    feeds = dict(zip(report.inputs, arguments(xs, constants), strict=True))
    for way in WAYS:
        found = Interpreter(report.content, way).run(feeds)
        for name, right in zip(report.outputs, wanted, strict=True):
            assert_equal(case, found[name], np.asarray(right))
    (read,) = functions_of(report.content, "the file")[0].values()
    again = read.run_arrays(feeds)
    assert list(again) == list(report.outputs)
    for name in report.outputs:
        assert_equal(case, again[name], found[name])
    return ""


def assert_equal(case: OpCase, got: Array, wanted: Array) -> None:
    assert got.shape == wanted.shape
    if wanted.dtype == object:
        texts = [[bytes(s) for s in x.reshape(-1)] for x in (got, wanted)]
        assert texts[0] == texts[1]
        return
    assert got.dtype == wanted.dtype
    if not is_float(wanted):
        np.testing.assert_array_equal(got, wanted)
        return
    # float64 is computed in float32.
    kind = np.dtype(np.float32) if wanted.dtype == np.float64 else wanted.dtype
    eps = float(np.finfo(kind).eps if kind != dtypes.bfloat16.numpy else 2.0**-7)
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        size = float(np.max(np.abs(b), where=np.isfinite(b), initial=1.0))
        allowed = max(case.ulps, 16) * eps * np.abs(b) + max(case.slack, 16) * eps * size
        # Numbers beyond float32 are infinite there.
        near = (np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))
    assert near.all(), (got, wanted)
