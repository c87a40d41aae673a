"""Files of `jax.export`, and bytecode alone, as models for commands and servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.models.finding import find_model
from pinnace.deploy.models.kinds import SAVED_MODEL
from pinnace.deploy.models.runners import load_runner
from pinnace.saved_model.stablehlo.exported import decode_exported, is_standalone
from pinnace.saved_model.stablehlo.standalone import function_of
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.versions import find_versions
from support.golden import golden

if TYPE_CHECKING:
    from pathlib import Path

FILES = [(name, file) for name in ("dynamic", "unused") for file in ("export.bin", "module.mlirbc")]


def arrays_of(name: str) -> tuple[list[Any], list[Any]]:
    with np.load(golden(f"jax_exports/{name}") / "io.npz") as arrays:
        sides = [
            [arrays[key] for key in arrays.files if key.startswith(side)]
            for side in ("in/", "out/")
        ]
    return sides[0], sides[1]


def place(name: str) -> tuple[str, int]:
    """Names sorted by the numbers in them."""
    word, _, number = name.partition("_")
    return word, int(number or 0)


def check(found: Any, wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for key, value in zip(sorted(found, key=place), wanted, strict=True):
        y = found[key]
        np.testing.assert_allclose(np.asarray(y), value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "file"), FILES)
def test_a_file_answers_as_jax_does(name: str, file: str) -> None:
    given, wanted = arrays_of(name)
    runner = load_runner(golden(f"jax_exports/{name}") / file)
    if file == "module.mlirbc" and name == "unused":
        given = given[:1] + given[2:]  # an unused input is not an argument of the module
    check(runner.run(dict(zip(runner.inputs, given, strict=True))), wanted)


def test_names_are_those_of_dictionaries_and_places() -> None:
    runner = load_runner(golden("jax_exports/unused") / "export.bin")
    assert {key: spec.text for key, spec in runner.inputs.items()} == {
        "arg0": "float32[3, 6]",
        "arg1": "int32[3]",
        "arg2": "float32[2]",
    }
    assert list(runner.outputs) == ["a_0", "a_1", "b"]


def test_a_server_takes_the_file() -> None:
    path = golden("jax_exports/dynamic") / "export.bin"
    assert find_versions(str(path)) == {1: path}
    given, wanted = arrays_of("dynamic")
    (signature,) = load_model(path).signatures.values()
    check(signature.run_arrays(dict(zip(signature.inputs, given, strict=True))), wanted)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes((golden("jax_exports/dynamic") / "export.bin").read_bytes())
    first, kind = find_model(path)
    assert kind == SAVED_MODEL
    assert find_model(path)[0] == first
    path.write_bytes((golden("jax_exports/unused") / "export.bin").read_bytes())
    assert list(load_runner(path).outputs) == ["a_0", "a_1", "b"]


@pytest.mark.parametrize("file", ["export.bin", "module.mlirbc"])
def test_a_file_that_ends_early_is_one_error(file: str) -> None:
    data = (golden("jax_exports/unused") / file).read_bytes()
    for size in [*range(0, len(data), 97), len(data) - 9]:
        with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.UnimplementedError)):
            function_of(data[:size])


def test_other_bytes_are_none() -> None:
    assert not is_standalone(b"")
    assert not is_standalone(b"PK\x03\x04" + bytes(200))
    assert not is_standalone(bytes(4096))
    assert not is_standalone(np.random.default_rng(0).bytes(4096))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"jax.export file"):
        decode_exported(b"nothing of that kind")
