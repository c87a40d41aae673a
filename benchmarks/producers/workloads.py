"""What `make bench-producers` asks: models of Keras on JAX, forests of ydf, transformers' words."""

from dataclasses import dataclass, field

from harness import OURS, TENSORFLOW

KERAS, FORESTS, WORDS = "keras", "forests", "words"
# Sides beside the libraries: ours on the export of the other backend, ydf, and ONNX Runtime on what
# `pinnace export` made.
OTHER_BACKEND, YDF, ONNXRUNTIME = "pinnace, TensorFlow's export", "ydf", "onnxruntime"

# Of zoo/networks: they say nothing but `tf.keras`, so that either backend builds them.
NETWORKS = (
    *("dense_classifier", "normalized_mlp", "resnet20", "mobilenet_v2", "vit"),
    *("unet", "gru", "bidirectional_lstm", "bert_like", "text_cnn"),
)
# A network whose load is measured.
LAYERS = "hundred_layers"
LOAD_AIM_S = 1.0

TREES = (100, 1000)
TREES_ROWS = (1, 10_000)

# Name -> words that are generated in a call.
GENERATORS = {"gpt2_small": (32,), "t5_small": (32,), "gpt2_33m": (32, 128)}

ROWS = 32


@dataclass(frozen=True, slots=True)
class Workload:
    """A row of the table.

    Attributes:
        kind: KERAS, FORESTS or WORDS.
        model: in `store`.
        rows: that are asked for at a time.
        per: what of a call is told is one of so many: a word of a sentence.
        aims: side -> the ratio of times (ours / theirs) to stay below.
        others: sides that are measured without an aim.
    """

    kind: str
    model: str
    rows: int = 1
    per: int = 1
    aims: dict[str, float] = field(default_factory=dict)
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Unique: the model, and how much is asked of it."""
        return f"{self.model}/{'t' + str(self.per) if self.kind == WORDS else 'b' + str(self.rows)}"

    @property
    def sides(self) -> list[str]:
        """Ours first."""
        return [OURS, *self.aims, *self.others]


def every() -> list[Workload]:
    """All rows, in the order of the table."""
    keras = {OTHER_BACKEND: 1.1, TENSORFLOW: 0.9}
    forests, words = {YDF: 1.0, ONNXRUNTIME: 1.0}, {TENSORFLOW: 0.5, ONNXRUNTIME: 1.0}
    return [
        *(Workload(KERAS, name, rows, 1, keras) for name in NETWORKS for rows in (1, ROWS)),
        *(
            Workload(FORESTS, f"boosted_{trees}", rows, 1, forests, (TENSORFLOW,))
            for trees in TREES
            for rows in TREES_ROWS
        ),
        *(
            Workload(WORDS, name, 1, count, words)
            for name, counts in GENERATORS.items()
            for count in counts
        ),
    ]


# One of each kind, small, for CI.
SHORT = ("dense_classifier/b32", "gru/b1", "boosted_100/b1", "boosted_100/b10000", "gpt2_small/t32")
