"""The tables of metadata, of lite_metadata.fbs. Written by generate_lite.py."""

from typing import Final

from pinnace.proto.lite_schema import Field

IDENTIFIER: Final = b"M001"
ROOT: Final = "ModelMetadata"

ENUMS: Final[dict[str, dict[str, int]]] = {
    "AssociatedFileType": {
        "UNKNOWN": 0,
        "DESCRIPTIONS": 1,
        "TENSOR_AXIS_LABELS": 2,
        "TENSOR_VALUE_LABELS": 3,
        "TENSOR_AXIS_SCORE_CALIBRATION": 4,
        "VOCABULARY": 5,
        "SCANN_INDEX_FILE": 6,
    },
    "ColorSpaceType": {
        "UNKNOWN": 0,
        "RGB": 1,
        "GRAYSCALE": 2,
    },
    "BoundingBoxType": {
        "UNKNOWN": 0,
        "BOUNDARIES": 1,
        "UPPER_LEFT": 2,
        "CENTER": 3,
    },
    "CoordinateType": {
        "RATIO": 0,
        "PIXEL": 1,
    },
    "ScoreTransformationType": {
        "IDENTITY": 0,
        "LOG": 1,
        "INVERSE_LOGISTIC": 2,
    },
}

# The first has the number 1.
UNIONS: Final[dict[str, tuple[str, ...]]] = {
    "ContentProperties": (
        "FeatureProperties",
        "ImageProperties",
        "BoundingBoxProperties",
        "AudioProperties",
    ),
    "ProcessUnitOptions": (
        "NormalizationOptions",
        "ScoreCalibrationOptions",
        "ScoreThresholdingOptions",
        "BertTokenizerOptions",
        "SentencePieceTokenizerOptions",
        "RegexTokenizerOptions",
    ),
}

TABLES: Final[dict[str, dict[str, Field]]] = {
    "AssociatedFile": {
        "name": Field(0, "string"),
        "description": Field(1, "string"),
        "type": Field(2, "int8"),
        "locale": Field(3, "string"),
        "version": Field(4, "string"),
    },
    "FeatureProperties": {},
    "ImageSize": {
        "width": Field(0, "uint32"),
        "height": Field(1, "uint32"),
    },
    "ImageProperties": {
        "color_space": Field(0, "int8"),
        "default_size": Field(1, "ImageSize"),
    },
    "AudioProperties": {
        "sample_rate": Field(0, "uint32"),
        "channels": Field(1, "uint32"),
    },
    "BoundingBoxProperties": {
        "index": Field(0, "[uint32]"),
        "type": Field(1, "int8"),
        "coordinate_type": Field(2, "int8"),
    },
    "ValueRange": {
        "min": Field(0, "int32"),
        "max": Field(1, "int32"),
    },
    "Content": {
        "content_properties": Field(1, "ContentProperties"),
        "range": Field(2, "ValueRange"),
    },
    "NormalizationOptions": {
        "mean": Field(0, "[float32]"),
        "std": Field(1, "[float32]"),
    },
    "ScoreCalibrationOptions": {
        "score_transformation": Field(0, "int8"),
        "default_score": Field(1, "float32"),
    },
    "ScoreThresholdingOptions": {
        "global_score_threshold": Field(0, "float32"),
    },
    "BertTokenizerOptions": {
        "vocab_file": Field(0, "[AssociatedFile]"),
    },
    "SentencePieceTokenizerOptions": {
        "sentencePiece_model": Field(0, "[AssociatedFile]"),
        "vocab_file": Field(1, "[AssociatedFile]"),
    },
    "RegexTokenizerOptions": {
        "delim_regex_pattern": Field(0, "string"),
        "vocab_file": Field(1, "[AssociatedFile]"),
    },
    "ProcessUnit": {
        "options": Field(1, "ProcessUnitOptions"),
    },
    "Stats": {
        "max": Field(0, "[float32]"),
        "min": Field(1, "[float32]"),
    },
    "TensorGroup": {
        "name": Field(0, "string"),
        "tensor_names": Field(1, "[string]"),
    },
    "TensorMetadata": {
        "name": Field(0, "string"),
        "description": Field(1, "string"),
        "dimension_names": Field(2, "[string]"),
        "content": Field(3, "Content"),
        "process_units": Field(4, "[ProcessUnit]"),
        "stats": Field(5, "Stats"),
        "associated_files": Field(6, "[AssociatedFile]"),
    },
    "CustomMetadata": {
        "name": Field(0, "string"),
        "data": Field(1, "[uint8]"),
    },
    "SubGraphMetadata": {
        "name": Field(0, "string"),
        "description": Field(1, "string"),
        "input_tensor_metadata": Field(2, "[TensorMetadata]"),
        "output_tensor_metadata": Field(3, "[TensorMetadata]"),
        "associated_files": Field(4, "[AssociatedFile]"),
        "input_process_units": Field(5, "[ProcessUnit]"),
        "output_process_units": Field(6, "[ProcessUnit]"),
        "input_tensor_groups": Field(7, "[TensorGroup]"),
        "output_tensor_groups": Field(8, "[TensorGroup]"),
        "custom_metadata": Field(9, "[CustomMetadata]"),
    },
    "ModelMetadata": {
        "name": Field(0, "string"),
        "description": Field(1, "string"),
        "version": Field(2, "string"),
        "subgraph_metadata": Field(3, "[SubGraphMetadata]"),
        "author": Field(4, "string"),
        "license": Field(5, "string"),
        "associated_files": Field(6, "[AssociatedFile]"),
        "min_parser_version": Field(7, "string"),
    },
}
