"""Conversion of SavedModels to verified .tflite files for LiteRT, and of .tflite files back.

`flow` runs an export step by step: a program (`deploy/program`) is found and frozen, `converters`
write it in built-in operators (`ir`), `passes` fuse operators, `smaller` quantises weights or
everything, `files` serialises, `verification` runs the file and compares. `reading` converts a file
to functions.
"""

from pinnace.framework.extras import install_command

try:
    import flatbuffers as _flatbuffers  # noqa: F401 (imported first, for a clear error)
except ImportError as _error:
    raise ModuleNotFoundError(
        f".tflite files need the package flatbuffers\n  Try: {install_command('lite')}",
        name="flatbuffers",
    ) from _error

from pinnace.deploy.lite import converters as converters
from pinnace.deploy.lite.flow.exporting import export as export
from pinnace.deploy.lite.flow.report import LiteReport as LiteReport
from pinnace.deploy.lite.reading.saving import load as load
