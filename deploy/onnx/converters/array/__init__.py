"""Converters of `core/ops/array`."""

from pinnace.deploy.onnx.converters import registry
from pinnace.deploy.onnx.converters.array import broadcasting as broadcasting
from pinnace.deploy.onnx.converters.array import casting as casting
from pinnace.deploy.onnx.converters.array import constants as constants
from pinnace.deploy.onnx.converters.array import duplicates as duplicates
from pinnace.deploy.onnx.converters.array import gathering as gathering
from pinnace.deploy.onnx.converters.array import identities as identities
from pinnace.deploy.onnx.converters.array import indicators as indicators
from pinnace.deploy.onnx.converters.array import joining as joining
from pinnace.deploy.onnx.converters.array import moved_windows as moved_windows
from pinnace.deploy.onnx.converters.array import nth_elements as nth_elements
from pinnace.deploy.onnx.converters.array import padding as padding
from pinnace.deploy.onnx.converters.array import parallel as parallel
from pinnace.deploy.onnx.converters.array import partitioning as partitioning
from pinnace.deploy.onnx.converters.array import permutations as permutations
from pinnace.deploy.onnx.converters.array import reshaping as reshaping
from pinnace.deploy.onnx.converters.array import scattering as scattering
from pinnace.deploy.onnx.converters.array import selecting as selecting
from pinnace.deploy.onnx.converters.array import shapes as shapes
from pinnace.deploy.onnx.converters.array import slicing as slicing
from pinnace.deploy.onnx.converters.array import sorting as sorting
from pinnace.deploy.onnx.converters.array import space_depth as space_depth
from pinnace.deploy.onnx.converters.array import tiling as tiling

registry.later.add(*(f"{__name__}.{module}" for module in ("earlier", "replacing")))
