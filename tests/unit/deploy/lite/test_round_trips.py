"""Every case of every op: the written file, read again, gives LiteRT's results."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnace.deploy.lite import export
from pinnace.deploy.lite.converters import registry
from pinnace.deploy.lite.reading.saving import functions_of
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.framework.errors import InternalError, OpError, UnimplementedError
from support.opcase import OpCase, all_cases, in_dtype, run
from unit.deploy.lite.case_runs import assert_equal
from unit.deploy.onnx.case_runs import structural
from unit.deploy.onnx.one_op import arguments, function_of

pytest.importorskip("ai_edge_litert")

CASES = [case for case in all_cases() if case.op in registry.converters()]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def read_as_litert(case: OpCase, xs: tuple[Any, ...], attrs: Any, *, sizes_known: bool) -> None:
    """Write an example of a case, read it again, and run both.

    Raises:
        AssertionError: the results differ.
    """
    constants = structural(case, xs)
    function = function_of(case.op, xs, attrs, sizes_known=sizes_known, constants=constants)
    try:
        report = export(function, verify=False)
    except UnimplementedError:
        return  # reported by test_converters.py
    assert report.content is not None
    feeds = dict(zip(report.inputs, arguments(xs, constants), strict=True))
    try:
        wanted = Interpreter(report.content, WAYS[1]).run(feeds)
    except InternalError:
        return  # reported by test_converters.py
    functions, _ = functions_of(report.content, "the file")
    (function,) = functions.values()
    found = function.run_arrays(feeds)
    assert list(found) == list(report.outputs)
    for name in report.outputs:
        assert_equal(case, found[name], wanted[name])


def check(case: OpCase, data: st.DataObject) -> None:
    xs, attrs = case.draw(data)
    xs = in_dtype(xs, data.draw(st.sampled_from(list(case.float_dtypes())), "dtype"))
    try:
        wanted = run(case, xs, attrs)
    except OpError:
        return  # the kernel refuses these inputs
    parts = [part for x in xs for part in (x if isinstance(x, tuple) else (x,))]
    if not all(np.size(part) for part in (*parts, *wanted)):
        return  # LiteRT's kernels, and its Python interface, lack empty tensors
    read_as_litert(case, xs, attrs, sizes_known=data.draw(st.booleans(), "sizes known"))


@every_case
@settings(max_examples=1, derandomize=True)
@given(data=st.data())
def test_what_is_read_gives_what_litert_gives(case: OpCase, data: st.DataObject) -> None:
    check(case, data)


@pytest.mark.slow
@every_case
@settings(max_examples=max(5, settings().max_examples // 5))
@given(data=st.data())
def test_what_is_read_gives_what_litert_gives_on_many(case: OpCase, data: st.DataObject) -> None:
    check(case, data)
