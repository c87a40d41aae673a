"""A server process for test_process.py, with folders of `write_version` as models."""

import sys
from pathlib import Path

from pinnace.serving.command import parse_settings
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.process import serve
from unit.serving.numpy_models import read_version, slow


def load(folder: Path) -> LoadedModel:
    """Half plus an offset; a model named `slow` is slow."""
    if folder.parent.name == "slow":
        return LoadedModel({"serving_default": slow(0.5)})
    return read_version(folder)


if __name__ == "__main__":
    # No gRPC by default, since servers of parallel tests would use the same port.
    arguments = sys.argv[1:]
    if not any(word.startswith("--port") for word in arguments):
        arguments.append("--port=0")
    sys.exit(serve(parse_settings(arguments)[0], load))
