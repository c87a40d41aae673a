"""Every case of every op with a converter: the model's results are the kernel's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnace.deploy.onnx.converters import registry
from pinnace.deploy.onnx.flow import lowering as lowering  # registers the converters
from pinnace.framework.errors import OpError
from support.opcase import OpCase, all_cases, in_dtype, run
from unit.deploy.onnx.case_runs import reasons, runs_as_the_kernel, structural

CASES = [case for case in all_cases() if case.op in registry.converters()]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
# Creating a session takes milliseconds, hence a third of the usual number of examples.
few = settings(max_examples=max(3, settings().max_examples // 3))


@every_case
@few
@given(data=st.data())
def test_the_model_computes_what_the_kernel_does(case: OpCase, data: st.DataObject) -> None:
    xs, attrs = case.draw(data)
    xs = in_dtype(xs, data.draw(st.sampled_from(list(case.float_dtypes())), "dtype"))
    try:
        wanted = run(case, xs, attrs)
    except OpError:
        return  # the kernel refuses these inputs
    sizes_known = data.draw(st.booleans(), "sizes known")
    for constants in {frozenset(structural(case, xs)), frozenset(range(1, len(xs)))}:
        runs_as_the_kernel(
            case, xs, attrs, wanted, sizes_known=sizes_known, constants=set(constants)
        )


def test_only_ops_that_declare_it_may_ask_for_constants() -> None:
    assert "axis must be a constant" in reasons("GatherV2")
    assert "must be a constant" not in reasons("Add")
