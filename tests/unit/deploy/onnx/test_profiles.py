"""Profiles: a file is written only if it runs on all of their platforms."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.verification.compatibility import REFUSES
from pinnace.deploy.onnx.verification.profiles import PROFILES
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.networks import op, traced


def net(kind: Any) -> Any:
    return traced(lambda x: op("Tanh", x), TensorSpec([None, 3], kind, name="x"))


@pytest.mark.parametrize("profile", PROFILES)
def test_a_plain_file_fits_every_profile(profile: str) -> None:
    report = export(net(np.float32), profile=profile)
    mine = [one for one in report.runtimes if one.runtime.startswith(PROFILES[profile])]
    assert mine
    assert all(one.answer != REFUSES for one in mine)


def test_a_file_that_does_not_fit_is_not_written(tmp_path: Path) -> None:
    place = tmp_path / "net.onnx"
    with pytest.raises(InvalidArgumentError, match=r"WebGPU\): .* float64\n    Try: "):
        export(net(np.float64), place, profile="webgpu")
    assert not list(tmp_path.iterdir())
    export(net(np.float64), place, profile="everywhere")
    assert place.exists()


def test_an_opset_that_an_older_runtime_has_not_is_named() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"1\.19.*opset 21 at most.*\n    Try: --opset 21"
    ):
        export(net(np.float32), opset=23, ir_version=10, profile="server")
    export(net(np.float32), opset=23, ir_version=10, profile="node")


def test_a_profile_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"no profile 'car'\n  profiles: server, node"):
        export(net(np.float32), profile="car")
