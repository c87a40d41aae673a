"""Picture files."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "ONNX Runtime reads no picture files; give the model pixels",
    "DecodePng",
    "DecodeJpeg",
    "DecodeBmp",
    "DecodeGif",
    "DecodeWebP",
    "DecodeImage",
    "DecodeAndCropJpeg",
    "ExtractJpegShape",
)

refuses(
    "ONNX writes no picture files",
    "EncodePng",
    "EncodeJpeg",
    "EncodeJpegVariableQuality",
)
