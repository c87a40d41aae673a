"""SavedModels as verified .tflite files, for LiteRT on phones, in browsers and elsewhere; and back.

`flow` walks through an export: a program (`deploy/program`) is found and freed of its state,
`converters` write it in built-in operators (`ir`), `passes` make fewer of them, `smaller` gives
weights or everything fewer bits, `files` writes bytes, `verification` runs them. `reading` makes
functions of a file again.
"""

from pinnace.framework.extras import install_command

try:
    import flatbuffers as _flatbuffers  # noqa: F401 (asked for before all that needs it)
except ImportError as _error:
    raise ModuleNotFoundError(
        f".tflite files need the package flatbuffers\n  Try: {install_command('lite')}",
        name="flatbuffers",
    ) from _error

from pinnace.deploy.lite import converters as converters
from pinnace.deploy.lite.flow.exporting import export as export
from pinnace.deploy.lite.flow.report import LiteReport as LiteReport
from pinnace.deploy.lite.reading.saving import load as load
