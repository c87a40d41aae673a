"""Built-in operators that are not supported, and the reasons."""

from fnmatch import fnmatchcase

_REASONS = {
    "calls code outside the file": "STABLEHLO_CUSTOM_CALL",
    "is a loop, and TFLiteConverter drops the values that it captures": "STABLEHLO_WHILE",
    "hashes its inputs with functions of LiteRT's own": "HASHTABLE_LOOKUP LSH_PROJECTION",
    "fills a table outside the subgraph of CALL_ONCE": "HASHTABLE_IMPORT",
    "splits strings into n-grams by rules of LiteRT's own": "SKIP_GRAM",
    "looks up sparse embeddings in a format of LiteRT's own": "EMBEDDING_LOOKUP_SPARSE",
    "is one step of a layer whose state its caller keeps": "LSTM",
    "is a part of a model compiled for one processor": "DELEGATE",
    "has no kernel in LiteRT": """
        CONCAT_EMBEDDINGS PLACEHOLDER_FOR_GREATER_OP_CODES
    """,
}


def reason_of(kind: str) -> str:
    """The reason why an operator is not supported."""
    for reason, patterns in _REASONS.items():
        if any(fnmatchcase(kind, pattern) for pattern in patterns.split()):
            return f"it {reason}; it is not read"
    return "it is not read"


def is_explained(kind: str) -> bool:
    """Whether an operator has a reason of its own."""
    return reason_of(kind) != "it is not read"
