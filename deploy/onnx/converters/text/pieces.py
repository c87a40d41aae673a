"""Normal forms and pieces of texts: none of them has an operator in ONNX."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "ONNX neither folds nor cuts texts like this; export what comes behind it",
    "CaseFoldUTF8",
    "NormalizeUTF8",
    "RegexSplitWithOffsets",
    "TFText>RoundRobinGenerateMasks",
    "TFText>RoundRobinTrim",
    "TFText>WhitespaceTokenizeWithOffsetsV2",
    "WordpieceTokenizeWithOffsets",
)
