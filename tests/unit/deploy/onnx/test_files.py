"""The file on disk: complete or absent, written with little memory, weights in a second file."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.files import staging, streaming
from pinnace.deploy.onnx.verification.checking import open_session, run_session
from pinnace.framework import errors
from unit.deploy.onnx.networks import classifier, image, traced

MEGABYTE = 1 << 20
SIZES = (4096, 4096)  # of a weight of 64 MiB


class Product(tf.Module):
    """x @ w, with one large weight."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        self.w = tf.Variable(rng.standard_normal((inner, outer), dtype=np.float32))

    @tf.function
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.matmul(x, self.w)}


def saved(folder: Path, inner: int, outer: int) -> Path:
    model = Product(inner, outer)
    spec = tf.TensorSpec([None, inner], tf.float32, name="x")
    concrete = model.serve.get_concrete_function(spec)
    tf.saved_model.save(model, folder, signatures={"serving_default": concrete})
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("large") / "1", *SIZES)


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


# Weights in a second file.


def test_weights_can_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    plain = export(traced(classifier, image()), tmp_path / "a.onnx")
    aside = export(traced(classifier, image()), tmp_path / "b.onnx", external_data=True)
    data = tmp_path / "b.onnx.data"
    assert plain.data_path is None
    assert aside.data_path == str(data)
    assert aside.file_bytes == data.stat().st_size + (tmp_path / "b.onnx").stat().st_size
    message = onnx.load(tmp_path / "b.onnx", load_external_data=False)
    places = {
        entry.value
        for tensor in message.graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    assert places == {"b.onnx.data"}
    onnx.checker.check_model(str(tmp_path / "b.onnx"), full_check=True)
    picture = np.random.default_rng(0).standard_normal((2, 8, 8, 3)).astype(np.float32)
    (first,) = run_session(open_session(tmp_path / "a.onnx"), {"image": picture})
    (second,) = run_session(open_session(tmp_path / "b.onnx"), {"image": picture})
    np.testing.assert_array_equal(first, second)


def test_weights_aside_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        export(traced(classifier, image()), tmp_path / name / "m.onnx", external_data=True)
    for file in ("m.onnx", "m.onnx.data"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_what_one_file_cannot_hold_gets_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "LIMIT", 4096)
    monkeypatch.setattr(staging, "LIMIT", 2048)
    report = export(traced(classifier, image()), tmp_path / "m.onnx")
    assert report.data_path == str(tmp_path / "m.onnx.data")
    with pytest.raises(errors.UnimplementedError, match="one file holds at most 2 GiB"):
        export(traced(classifier, image()), tmp_path / "m.onnx", external_data=False)
    with pytest.raises(errors.UnimplementedError, match="int8 holds at most 2 GiB"):
        export(traced(classifier, image()), tmp_path / "m.onnx", int8=True)


def test_weights_aside_need_a_path() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="external_data=True writes a file"):
        export(traced(classifier, image()), external_data=True)


# Complete or absent.


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(errors.FailedPreconditionError, match="is a folder"):
        export(traced(classifier, image()), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(errors.PermissionDeniedError, match="cannot write"):
        export(traced(classifier, image()), tmp_path / "m.onnx")


@pytest.mark.parametrize("aside", ["None", "True"])
def test_a_full_disk_leaves_no_half_file(tmp_path: Path, large: Path, aside: str) -> None:
    target = tmp_path / "m.onnx"
    target.write_bytes(b"what was there")
    program = (
        "import resource, sys\n"
        "from pinnace.deploy.onnx import export\n"
        "from pinnace.framework.errors import ResourceExhaustedError\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({MEGABYTE}, {MEGABYTE}))\n"
        "try:\n"
        f"    export(sys.argv[1], sys.argv[2], external_data={aside})\n"
        "except ResourceExhaustedError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(large), str(target)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "cannot write" in done.stdout
    assert "what was there is unchanged" in done.stdout
    assert target.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [target]


def test_nothing_hidden_is_left(tmp_path: Path) -> None:
    export(traced(classifier, image()), tmp_path / "m.onnx", external_data=True)
    assert not hidden(tmp_path)


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "m.onnx").symlink_to(tmp_path / "real" / "m.onnx")
    export(traced(classifier, image()), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").is_symlink()
    onnx.checker.check_model(str(tmp_path / "real" / "m.onnx"))


# Memory.


@pytest.mark.skipif(sys.platform != "linux", reason="the process asks Linux for its peak")
@pytest.mark.parametrize("aside", ["None", "True"])
def test_no_more_memory_than_for_the_weights_twice_is_needed(
    tmp_path: Path, large: Path, aside: str
) -> None:
    # getrusage would include the memory of the parent when this process began.
    program = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from pinnace.deploy.onnx import export\n"
        f"export(sys.argv[1], sys.argv[2], external_data={aside})\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+) kB', status)[1]) * 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(large), str(tmp_path / "m.onnx")],
        capture_output=True,
        text=True,
        check=True,
    )
    weights = 4 * SIZES[0] * SIZES[1]
    # Once as read from the model, which may be overwritten meanwhile, and once as ONNX Runtime maps
    # the file.
    assert int(done.stdout) <= 2 * weights + 110e6
