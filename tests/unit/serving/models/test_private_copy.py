"""Model folders that are truncated, removed and damaged while they are served."""

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import DataLossError, UnavailableError
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models import private_copy
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.private_copy import copy_privately, release_copies
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.tables import Which

ROWS = 512  # 1 MiB of weights: many pages
V1_MODEL = Path(__file__).parents[3] / "golden" / "saved_models" / "v1_style" / "model"
DATA = "variables/variables.data-00000-of-00001"


def save(folder: Path, scale: float = 1.0) -> Path:
    """A model that returns the sum of its inputs times `scale`."""

    class Sum(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(np.full((ROWS, ROWS), scale, np.float32))

        @tf.function(input_signature=[tf.TensorSpec([None, ROWS], tf.float32, name="x")])
        def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": tf.matmul(x, self.w)}

    model = Sum()
    tf.saved_model.save(model, str(folder), signatures=model.__call__)
    return folder


def answer(models: Repository) -> float:
    feeds = {"x": np.ones((1, ROWS), np.float32)}
    return float(models.get(Which("m")).run_now("serving_default", feeds)["y"][0, 0])


@pytest.fixture(autouse=True)
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for copies."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder / f"pinnace-{os.getuid()}"


@pytest.fixture
def models(tmp_path: Path) -> Iterator[Repository]:
    """A server with version 1 of the model `m`, without any requests yet."""
    save(tmp_path / "m" / "1")
    config = ModelConfig("m", str(tmp_path / "m"))
    settings = Settings(models=(config,), file_system_poll_s=0, warmup_iterations=0)
    models = Repository(settings)
    models.start()
    yield models
    models.close()


SCRIPT = f"""
import os, sys
import numpy as np
from pathlib import Path
from pinnace.serving.models.loading import load_model
folder = Path(sys.argv[1])
model = load_model(folder)
os.truncate(folder / "{DATA}", 0)
x = np.ones((1, {ROWS}), np.float32)
print(model.signatures["serving_default"].run_arrays({{"x": x}})["y"][0, 0])
"""


def test_a_data_file_may_be_cut_short_in_place(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    # In a separate process, since the system would end it on an error.
    command = [sys.executable, "-c", SCRIPT, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, f"{ROWS:.1f}"), done.stderr
    assert (folder / DATA).stat().st_size == 0


def test_a_data_file_may_be_overwritten_in_place(models: Repository, tmp_path: Path) -> None:
    with (tmp_path / "m" / "1" / DATA).open("rb+") as file:
        file.write(bytes(2**20))
    assert answer(models) == ROWS


def test_a_model_folder_may_be_removed(models: Repository, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "m")
    models.refresh()
    assert answer(models) == ROWS


def test_a_damaged_version_is_refused_and_the_old_one_answers(
    models: Repository, tmp_path: Path
) -> None:
    folder = save(tmp_path / "m" / "2", 2.0)
    data = bytearray((folder / DATA).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / DATA).write_bytes(data)
    models.refresh()
    newest, old = models.all_statuses("m")
    assert (newest.code_name, newest.state.name, old.state.name) == (
        "DATA_LOSS",
        "END",
        "AVAILABLE",
    )
    assert newest.message.startswith(f"{folder / DATA}: tensor ")
    assert "do not match their checksum" in newest.message
    assert answer(models) == ROWS
    save(folder, 2.0)
    models.refresh()
    assert answer(models) == 2 * ROWS


def test_a_version_that_is_cut_short_before_it_loads_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    os.truncate(folder / DATA, 1000)
    with pytest.raises(DataLossError, match="cut off") as caught:
        load_model(folder)
    assert str(tmp_path / "temporary") not in str(caught.value)


def test_copies_go_with_the_last_who_uses_them(tmp_path: Path, copies: Path) -> None:
    folder = save(tmp_path / "m")
    one, two = copy_privately(folder), copy_privately(folder)
    assert one is not None
    assert two is not None
    assert one.path == two.path  # shared, as between workers
    assert (one.path / DATA).read_bytes() == (folder / DATA).read_bytes()
    one.release()
    one.release()
    assert (two.path / DATA).is_file()
    two.release()
    assert [path.name for path in copies.iterdir()] == [".lock"]


def test_a_model_that_is_gone_leaves_no_copy(tmp_path: Path, copies: Path) -> None:
    model = load_model(save(tmp_path / "m"))
    assert len(list(copies.iterdir())) == 2
    del model
    gc.collect()
    assert [path.name for path in copies.iterdir()] == [".lock"]


def test_a_worker_that_ends_leaves_no_copy(tmp_path: Path, copies: Path) -> None:
    models = [load_model(save(tmp_path / name)) for name in ("m", "n")]
    assert len(list(copies.iterdir())) == 3
    release_copies()
    assert [path.name for path in copies.iterdir()] == [".lock"]
    x = np.ones((1, ROWS), np.float32)  # mapped values stay
    for model in models:
        assert model.signatures["serving_default"].run_arrays({"x": x})["y"][0, 0] == ROWS


def test_a_damaged_version_of_tensorflow_1_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    shutil.copytree(V1_MODEL, folder)
    load_model(folder)
    (file,) = folder.glob("variables/variables.data-*")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(DataLossError, match="do not match their checksum"):
        load_model(folder)


def test_copies_made_at_once_are_one(tmp_path: Path, copies: Path) -> None:
    folder = save(tmp_path / "m")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(copy_privately, [folder] * 24))
    assert len({copy.path for copy in made if copy is not None}) == 1
    assert len(list(copies.iterdir())) == 2
    for copy in made:
        assert copy is not None
        copy.release()
    assert len(list(copies.iterdir())) == 1


def test_what_a_killed_process_left_is_removed(tmp_path: Path, copies: Path) -> None:
    folder = save(tmp_path / "m")
    script = (
        "import os, sys, pathlib\n"
        "from pinnace.serving.models.private_copy import copy_privately\n"
        "print(copy_privately(pathlib.Path(sys.argv[1])).path, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    left = Path(done.stdout.strip())
    assert left.is_dir()
    assert left.parent == copies
    other = copy_privately(save(tmp_path / "n"))
    assert other is not None
    assert not left.exists()
    other.release()


def test_another_file_of_the_same_name_is_another_copy(tmp_path: Path) -> None:
    one = copy_privately(save(tmp_path / "m"))
    two = copy_privately(save(tmp_path / "m", 2.0))
    assert one is not None
    assert two is not None
    assert one.path != two.path
    one.release()
    two.release()


def test_a_folder_that_changes_meanwhile_is_refused(
    tmp_path: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save(tmp_path / "m")
    copy_bytes = private_copy._copy_bytes

    def change(source: int, target: int) -> None:
        copy_bytes(source, target)
        (folder / "saved_model.pb").touch()

    monkeypatch.setattr(private_copy, "_copy_bytes", change)
    with pytest.raises(UnavailableError, match=rf"{folder}.*: changes while it is read"):
        copy_privately(folder)
    assert [path.name for path in copies.iterdir()] == [".lock"]


def test_without_space_the_original_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = save(tmp_path / "m")
    monkeypatch.setattr(private_copy, "SPARE_BYTES", 2**62)
    model = load_model(folder)
    assert "must not be cut short" in caplog.text
    assert "has no space" in caplog.text
    os.truncate(folder / DATA, 0)  # if it were mapped, the system would end this process
    outputs = model.signatures["serving_default"].run_arrays({"x": np.ones((1, ROWS), np.float32)})
    assert outputs["y"][0, 0] == ROWS


def test_a_folder_of_others_is_not_trusted(
    tmp_path: Path, copies: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copies.mkdir()
    copies.chmod(0o777)
    assert copy_privately(save(tmp_path / "m")) is None
    assert "can be written by others" in caplog.text
    assert list(copies.iterdir()) == []
