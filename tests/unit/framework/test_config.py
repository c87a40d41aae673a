"""Settings: environment variables, and the switches of the process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import pinnace as tf
from pinnace.framework import config
from pinnace.framework.config import settings_from
from pinnace.framework.devices import device
from pinnace.framework.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = {name: getattr(config.settings, name) for name in config.Settings.__slots__}
    yield
    for name, value in before.items():
        setattr(config.settings, name, value)


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = settings_from({"HOME": "/home/someone"})
    assert (settings.tier, settings.fusion, settings.intra_op_threads) == ("auto", True, 0)
    assert not settings.deterministic
    assert not settings.run_eagerly
    assert settings.cache is None or settings.cache.name == "pinnace"


def test_the_environment_is_read() -> None:
    settings = settings_from(
        {
            "PINNACE_TIER": "plan",
            "PINNACE_FUSION": "0",
            "PINNACE_DETERMINISM": "1",
            "PINNACE_EAGER": "true",
            "PINNACE_THREADS": "4",
            "PINNACE_CACHE": "/somewhere",
        }
    )
    assert (settings.tier, settings.fusion, settings.deterministic) == ("plan", False, True)
    assert (settings.run_eagerly, settings.intra_op_threads) == (True, 4)
    assert settings.cache == Path("/somewhere")
    assert settings_from({"PINNACE_CACHE": ""}).cache is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PINNACE_TIER", "fast"),
        ("PINNACE_FUSION", "2"),
        ("PINNACE_THREADS", "-1"),
        ("PINNACE_THREADS", "x"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{name} must be .*got '{value}'"):
        settings_from({name: value})


def test_functions_can_be_made_to_run_eagerly() -> None:
    config.run_functions_eagerly(True)
    assert config.functions_run_eagerly()
    config.experimental_run_functions_eagerly(False)
    assert not config.experimental_functions_run_eagerly()


def test_determinism_pins_the_tier() -> None:
    config.set_tier("auto")
    config.enable_op_determinism()
    assert config.is_op_determinism_enabled()
    assert config.settings.pinned_tier == "plan"
    config.disable_op_determinism()
    assert config.settings.pinned_tier == config.get_tier() == config.tier == "auto"


def test_the_switches_check_what_they_are_given() -> None:
    config.set_intra_op_parallelism_threads(2)
    config.set_inter_op_parallelism_threads(3)
    assert config.get_intra_op_parallelism_threads() == 2
    assert config.get_inter_op_parallelism_threads() == 3
    with pytest.raises(
        InvalidArgumentError, match="must be a number of threads, at least 0, got -1"
    ):
        config.set_intra_op_parallelism_threads(-1)
    with pytest.raises(InvalidArgumentError, match="set_tier: tier must be one of auto, eager"):
        config.set_tier("warp")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(AttributeError, match="no attribute 'warp'"):
        _ = config.warp


def test_the_only_device_is_the_cpu() -> None:
    assert [d.device_type for d in config.list_physical_devices()] == ["CPU"]
    assert config.list_physical_devices("GPU") == []


def test_settings_of_devices_that_are_not_there_are_harmless() -> None:
    for gpu in config.experimental.list_physical_devices("GPU"):
        config.experimental.set_memory_growth(gpu, True)
    config.set_visible_devices([], "GPU")
    assert config.get_visible_devices() == config.list_physical_devices()
    assert config.list_logical_devices("TPU") == []
    config.set_soft_device_placement(False)
    assert not config.get_soft_device_placement()
    config.set_soft_device_placement(True)
    config.optimizer.set_experimental_options({"constant_folding": True})
    assert config.optimizer.get_experimental_options()["constant_folding"]
    for name in ("/GPU:0", "/device:CPU:0", "cpu:0", "/job:worker/replica:0/task:1/GPU:*", None):
        with device(name):
            assert tf.constant(1.0).device.endswith("CPU:0")


def test_what_a_cpu_cannot_be_told_is_refused() -> None:
    (cpu,) = config.list_physical_devices()
    with pytest.raises(RuntimeError, match="the CPU cannot be hidden"):
        config.set_visible_devices([])
    with pytest.raises(ValueError, match="only a GPU has this setting"):
        config.experimental.set_memory_growth(cpu, True)
    with pytest.raises(ValueError, match="there is no GPU"):
        config.set_visible_devices([cpu], "GPU")
    with pytest.raises(ValueError, match="at least one logical device, got none"):
        config.set_logical_device_configuration(cpu, [])
    with pytest.raises(ValueError, match="no limit of memory"):
        config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration(1024)])
    with pytest.raises(ValueError, match="no option folding"):
        config.optimizer.set_experimental_options({"folding": True})
    with pytest.raises(ValueError, match="must look like '/CPU:0'"), device("on the moon"):
        pass


def test_a_cpu_is_divided_by_name_and_whole_again() -> None:
    (cpu,) = config.list_physical_devices()
    parts = [config.LogicalDeviceConfiguration()] * 3
    config.set_logical_device_configuration(cpu, parts)
    try:
        names = [one.name for one in config.list_logical_devices("CPU")]
        assert names == ["/device:CPU:0", "/device:CPU:1", "/device:CPU:2"]
        assert config.get_logical_device_configuration(cpu) == parts
        with device(names[2]):
            assert tf.constant(1.0).numpy() == 1.0
    finally:
        config.set_logical_device_configuration(cpu, None)
    assert len(config.list_logical_devices()) == 1


def test_threads_of_one_op_are_those_that_blas_uses() -> None:
    from threadpoolctl import threadpool_info

    def used() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    config.threading.set_intra_op_parallelism_threads(0)
    began = used()
    try:
        config.threading.set_intra_op_parallelism_threads(1)
        assert config.threading.get_intra_op_parallelism_threads() == 1
        assert set(used()) == {1}
    finally:
        config.threading.set_intra_op_parallelism_threads(0)
    assert used() == began
