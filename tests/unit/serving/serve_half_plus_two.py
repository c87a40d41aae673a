"""A server process for test_server.py: folders of `write_version` in place of SavedModels."""

import sys

from pinnace.serving.command import parse_settings
from pinnace.serving.server import serve
from unit.serving.numpy_models import read_version

if __name__ == "__main__":
    sys.exit(serve(parse_settings(sys.argv[1:])[0], read_version))
