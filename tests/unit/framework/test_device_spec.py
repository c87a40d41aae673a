"""`DeviceSpec`; the values are those of TensorFlow 2.21."""

import pytest

from pinnace.framework import devices
from pinnace.framework.device_spec import DeviceSpec


@pytest.mark.parametrize(
    ("text", "whole", "index"),
    [
        (
            "/job:worker/replica:0/task:1/device:CPU:0",
            "/job:worker/replica:0/task:1/device:CPU:0",
            0,
        ),
        ("/CPU:0", "/device:CPU:0", 0),
        ("cpu", "/device:CPU:*", None),
        ("GPU:*", "/device:GPU:*", None),
        ("/job:a", "/job:a", None),
        ("", "", None),
        (None, "", None),
        ("/device:XYZ:1", "/device:XYZ:1", 1),
        ("job:a/task:3", "/job:a/task:3", None),
    ],
)
def test_a_name_is_read(text: str | None, whole: str, index: int | None) -> None:
    spec = DeviceSpec.from_string(text)
    assert spec.to_string() == whole
    assert spec.device_index == index
    assert DeviceSpec.from_string(whole) == spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/gpu:1/CPU:0", "Multiple device types are not allowed"),
        ("/foo:1", "Unknown attribute 'foo'"),
        ("/device:CPU", "Unknown attribute 'device'"),
        ("/CPU:0:1", "Unknown attribute 'CPU'"),
        ("/task:x", "task must be a number, got 'x'"),
    ],
)
def test_what_is_no_name_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DeviceSpec.from_string(text)


def test_specs_are_merged_and_never_change() -> None:
    a = DeviceSpec(job="a", device_type="gpu", device_index="1")  # type: ignore[arg-type] # taken, too
    b = DeviceSpec(task=2, device_type="CPU")
    assert a.make_merged_spec(b).to_string() == "/job:a/task:2/device:CPU:1"
    assert b.make_merged_spec(a).to_string() == "/job:a/task:2/device:GPU:1"
    assert a.replace(job=None).to_string() == "/device:GPU:1"
    assert a == DeviceSpec.from_string("/job:a/GPU:1")
    assert hash(a) == hash(DeviceSpec.from_string("/job:a/GPU:1"))
    assert a != "/job:a/device:GPU:1"
    assert repr(b) == (
        "<DeviceSpec(job=None, replica=None, task=2, device_type=CPU, device_index=None)>"
    )
    with pytest.raises(AttributeError):
        a.job = "b"  # type: ignore[misc]
    with pytest.raises(TypeError):
        a.replace(place=1)


def test_device_takes_a_spec() -> None:
    with devices.device(DeviceSpec(device_type="CPU", device_index=0)):
        pass
    with pytest.raises(ValueError, match="must look like"), devices.device("CPU:0 please"):
        pass
