"""Models of TensorFlow.js, written and read.

`exporting` runs an export step by step: `graph` lowers the program (`deploy/program`) to the ops
that TensorFlow.js has (`facts`), `files` serialises, `checks` runs the model in TensorFlow.js, in
Node. `reading` converts a graph model to a function, and `unfusing` expands its fused nodes.
`layers` writes and reads Keras models as layers models.
"""

from typing import TYPE_CHECKING, Any

from pinnace.deploy.tfjs.exporting import export as export
from pinnace.deploy.tfjs.reading import load as load
from pinnace.deploy.tfjs.report import TfjsReport as TfjsReport

if TYPE_CHECKING:
    from pinnace.deploy.tfjs.layers.reading import load_layers as load_layers
    from pinnace.deploy.tfjs.layers.writing import export_layers as export_layers


if not TYPE_CHECKING:  # Keras is imported only if it is used

    def __getattr__(name: str) -> Any:
        if name == "export_layers":
            from pinnace.deploy.tfjs.layers.writing import export_layers as found
        elif name == "load_layers":
            from pinnace.deploy.tfjs.layers.reading import load_layers as found
        else:
            raise AttributeError(f"module 'pinnace.deploy.tfjs' has no attribute {name!r}")
        return found
