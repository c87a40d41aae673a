"""Built-in operators that are not read, and why."""

from fnmatch import fnmatchcase

_REASONS = {
    "is an op of StableHLO, which a .tflite file holds beside LiteRT's operators": "STABLEHLO_*",
    "hashes what it is given by LiteRT's own functions": "HASHTABLE_LOOKUP LSH_PROJECTION",
    "fills a table outside of what CALL_ONCE runs": "HASHTABLE_IMPORT",
    "cuts texts into words and n-grams by LiteRT's own rules": "SKIP_GRAM",
    "looks up in sparse tables of LiteRT's own": "EMBEDDING_LOOKUP_SPARSE",
    "filters sound by LiteRT's own ranks": "SVDF",
    "is one step of a layer whose state its caller keeps": "LSTM",
    "is a part of a model that was compiled for one processor": "DELEGATE",
    "was never given a kernel in LiteRT": """
        CONCAT_EMBEDDINGS PLACEHOLDER_FOR_GREATER_OP_CODES
    """,
    "is written by no converter of TensorFlow's": "REDUCE_WINDOW",
}


def reason_of(kind: str) -> str:
    """Why an operator is not read."""
    for reason, patterns in _REASONS.items():
        if any(fnmatchcase(kind, pattern) for pattern in patterns.split()):
            return f"it {reason}; it is not read"
    return "it is not read"


def is_explained(kind: str) -> bool:
    """Whether there is a reason of its own."""
    return reason_of(kind) != "it is not read"
