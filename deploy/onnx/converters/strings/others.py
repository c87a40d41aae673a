"""What ONNX does with no string."""

from pinnace.deploy.onnx.registry import refuses

refuses("ONNX has no bytes of strings", "DecodeBase64", "DecodeCompressed", "EncodeBase64")
refuses(
    "ONNX has no hash of strings",
    "StringToHashBucket",
    "StringToHashBucketFast",
    "StringToHashBucketStrong",
    "Fingerprint",
)
refuses(
    "gives pieces of different count per string, where ONNX fills up to the longest",
    "StringNGrams",
    "UnicodeDecode",
    "UnicodeDecodeWithOffsets",
    "UnicodeEncode",
    "UnicodeTranscode",
)
refuses("ONNX writes numbers in its own way", "StringFormat")
refuses("asks for the script of a letter, which ONNX has no table of", "UnicodeScript")
