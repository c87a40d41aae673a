"""A server process for test_process.py, with SavedModels and without gRPC."""

import sys

from pinnace.serving.command import parse_settings
from pinnace.serving.process import serve

if __name__ == "__main__":
    sys.exit(serve(parse_settings([*sys.argv[1:], "--port=0"])[0]))
