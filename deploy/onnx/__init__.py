"""SavedModels as verified ONNX files.

`flow` contains the steps of an export: a program (`deploy/program`) is extracted and its state made
inputs and outputs, `converters` translate it to operators (`ir`), `passes` optimise them, `files`
and `verification` write and check the file (on inputs of `deploy/sampling`), `derived` makes
further files from it, `report` describes the result. `deploy/refusals.py` has the reasons for
refusing a model.

- A converter writes operators one by one; `passes` then find what several of them compute together,
    by their formulas and never by names: `polynomials.py` and `normalisations.py` read formulas as
    polynomials, `gates.py` and `cells.py` the body of a loop as sums of products, and
    `ir/size_origins.py` tells which unknown sizes are equal.
- String processing that ONNX lacks is cut off: `flow/frontier.py` finds the cheapest cut between
    the ops that `deploy/tokenizer` supports and those that have converters.
"""

from pinnace.framework.extras import install_command

try:
    import onnx as _onnx  # noqa: F401 (imported first, for a clear error)
except ImportError as _error:
    raise ModuleNotFoundError(
        f"ONNX models need the package onnx\n  Try: {install_command('onnx')}", name="onnx"
    ) from _error

from pinnace.deploy.onnx.converters.registry import converts as converts
from pinnace.deploy.onnx.converters.unsupported import NO_ONNX as NO_ONNX
from pinnace.deploy.onnx.flow.exporting import export as export
from pinnace.deploy.onnx.report.export_report import ExportReport as ExportReport
