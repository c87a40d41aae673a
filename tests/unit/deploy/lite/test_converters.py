"""Every case of every op with a converter: LiteRT's results are the kernel's.

Those of the file read again are LiteRT's.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnace.deploy.lite.converters import registry
from pinnace.framework.errors import OpError
from support.opcase import OpCase, all_cases, in_dtype, run
from unit.deploy.lite.case_runs import runs_as_the_kernel
from unit.deploy.onnx.case_runs import structural

pytest.importorskip("ai_edge_litert")

CASES = [case for case in all_cases() if case.op in registry.converters()]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def _check(case: OpCase, data: st.DataObject) -> None:
    xs, attrs = case.draw(data)
    xs = in_dtype(xs, data.draw(st.sampled_from(list(case.float_dtypes())), "dtype"))
    try:
        wanted = run(case, xs, attrs)
    except OpError:
        return  # the kernel refuses these inputs
    parts = [part for x in xs for part in (x if isinstance(x, tuple) else (x,))]
    if not all(np.size(part) for part in (*parts, *wanted)):
        return  # LiteRT's kernels, and its Python interface, lack empty tensors
    sizes_known = data.draw(st.booleans(), "sizes known")
    for constants in (structural(case, xs), set(range(1, len(xs)))):
        runs_as_the_kernel(case, xs, attrs, wanted, sizes_known=sizes_known, constants=constants)


@every_case
@settings(max_examples=1, derandomize=True)
@given(data=st.data())
def test_litert_computes_what_the_kernel_does(case: OpCase, data: st.DataObject) -> None:
    _check(case, data)


@pytest.mark.slow
@every_case
@settings(max_examples=max(5, settings().max_examples // 5))
@given(data=st.data())
def test_litert_computes_what_the_kernel_does_on_many(case: OpCase, data: st.DataObject) -> None:
    _check(case, data)
