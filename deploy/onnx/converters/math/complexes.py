"""Complex numbers: no runtime has a kernel for them."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "computes with complex numbers, which no ONNX runtime does",
    "Angle",
    "Complex",
    "ComplexAbs",
    "Conj",
    "Imag",
    "Real",
)
