"""Built-in operators that are not read, and why."""

from fnmatch import fnmatchcase

_REASONS = {
    "calls code that no file holds": "STABLEHLO_CUSTOM_CALL",
    "is a loop of which TFLiteConverter loses what it takes from outside": "STABLEHLO_WHILE",
    "hashes what it is given by LiteRT's own functions": "HASHTABLE_LOOKUP LSH_PROJECTION",
    "fills a table outside of what CALL_ONCE runs": "HASHTABLE_IMPORT",
    "cuts texts into words and n-grams by LiteRT's own rules": "SKIP_GRAM",
    "looks up in sparse tables of LiteRT's own": "EMBEDDING_LOOKUP_SPARSE",
    "is one step of a layer whose state its caller keeps": "LSTM",
    "is a part of a model that was compiled for one processor": "DELEGATE",
    "was never given a kernel in LiteRT": """
        CONCAT_EMBEDDINGS PLACEHOLDER_FOR_GREATER_OP_CODES
    """,
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
