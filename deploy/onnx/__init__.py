"""SavedModels as verified ONNX files."""

from typing import TYPE_CHECKING

from pinnace.framework.extras import install_command

try:
    import onnx as _onnx  # noqa: F401 (asked for before all that needs it)
except ImportError as _error:
    raise ModuleNotFoundError(
        f"the export needs the package onnx\n  Try: {install_command('onnx')}", name="onnx"
    ) from _error

from pinnace.deploy.onnx import registry
from pinnace.deploy.onnx.exporting import export as export
from pinnace.deploy.onnx.registry import converts as converts
from pinnace.deploy.onnx.report import ExportReport as ExportReport

if TYPE_CHECKING:
    from pinnace.deploy.onnx.registry import NO_ONNX as NO_ONNX


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> dict[str, str]:
        """`NO_ONNX`, whose reasons stand in modules that an export seldom needs."""
        if name != "NO_ONNX":
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        registry.later.import_all()
        return registry.NO_ONNX
