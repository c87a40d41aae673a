"""SavedModels as verified ONNX files."""

from pinnace.deploy.onnx.exporting import export as export
from pinnace.deploy.onnx.registry import NO_ONNX as NO_ONNX
from pinnace.deploy.onnx.registry import converts as converts
from pinnace.deploy.onnx.report import ExportReport as ExportReport
