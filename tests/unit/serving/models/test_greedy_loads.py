"""Models that take as much memory and time as they can while they are loaded."""

import shutil
import threading
from pathlib import Path

import pytest
from google.protobuf import text_format

from pinnace.framework.errors import DeadlineExceededError
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.tables import Which
from support.hungry_models import save_hungry
from unit.serving.memory_server import running
from unit.serving.numpy_models import read_version, write_version

GOLDEN = Path(__file__).parents[3] / "golden"
LIMIT = 50_000_000


def settings_of(*bases: Path, **options: object) -> Settings:
    models = tuple(ModelConfig(base.name, str(base)) for base in bases)
    return Settings(models=models, file_system_poll_s=0, **options)  # type: ignore[arg-type]


def test_what_a_model_runs_while_it_is_loaded_has_the_memory_of_a_run(tmp_path: Path) -> None:
    base = save_hungry(tmp_path / "m" / "1", side=1000).parent
    repository = Repository(settings_of(base, max_run_bytes=LIMIT))
    repository.start()
    try:
        save_hungry(base / "2", side=6000)  # 144 MB
        repository.refresh()
        newest, old = repository.status(Which("m"))
        assert (newest.state.name, newest.code_name) == ("END", "RESOURCE_EXHAUSTED")
        assert f"a run may take {LIMIT} bytes of memory" in newest.message
        assert old.state.name == "AVAILABLE"
    finally:
        repository.close()


def test_without_a_limit_it_is_loaded(tmp_path: Path) -> None:
    base = save_hungry(tmp_path / "m" / "1", side=6000).parent
    with running(settings_of(base), load_model) as server:
        (answer,) = server.predict({"instances": [1.0]}).json()["predictions"]
        assert 1.999 < answer <= 2.0


@pytest.mark.parametrize("hanging", ["a", "z"])
def test_a_model_that_never_loads_does_not_keep_others_from_being_served(
    hanging: str, tmp_path: Path
) -> None:
    never = threading.Event()

    def load(path: Path) -> LoadedModel:
        if path.parent.name == hanging:
            never.wait()
        return read_version(path)

    for name in (hanging, "m"):
        write_version(tmp_path / name, 1)
    repository = Repository(settings_of(tmp_path / hanging, tmp_path / "m", max_load_s=0.3), load)
    try:
        repository.start()
        assert repository.get(Which("m")).version == 1
        assert not repository.is_ready()  # one model has no version that answers
        with pytest.raises(DeadlineExceededError):  # its clients get the error
            repository.load(hanging)
        (status,) = repository.status(Which(hanging))
        assert "was not loaded within 0.3 s" in status.message
        with pytest.raises(DeadlineExceededError):
            Repository(settings_of(tmp_path / hanging, max_load_s=0.3), load).start()
    finally:
        never.set()
        repository.close()


def test_the_text_form_is_served(tmp_path: Path) -> None:
    """The folder, and a version of it, give the answers of the binary form."""
    source = GOLDEN / "v1_models" / "half_plus_two" / "model"
    for name, version in (("m", ""), ("n", "3")):
        folder = shutil.copytree(source, tmp_path / name / version)
        message = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
        (folder / "saved_model.pb").unlink()
        text = text_format.MessageToString(message)
        (folder / "saved_model.pbtxt").write_text(text)
    shutil.copytree(source, tmp_path / "b" / "3")
    settings = settings_of(tmp_path / "m", tmp_path / "n", tmp_path / "b")
    with running(settings, load_model) as server:
        body = {"instances": [[1.0], [2.0]]}
        answers = [server.predict(body, model=name).json() for name in ("m", "n", "b")]
    assert answers[0] == answers[1] == answers[2]
    assert "predictions" in answers[0]
