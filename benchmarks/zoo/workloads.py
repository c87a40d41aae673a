"""The rows of the zoo's tables: each network's batches and training step, and the special runs."""

from dataclasses import dataclass
from functools import cache

from zoo import store

INFERENCE, TRAINING = "inference", "training"
# How the calls come, other than the same call again.
FIXED, CHANGING, LONG, NEIGHBOURS = "fixed batch", "changing batches", "long run", "neighbours"


@dataclass(frozen=True, slots=True)
class Workload:
    """One row.

    Attributes:
        network: its name in the catalogue.
        kind: `inference` or `training`.
        rows: the batch.
        special: how the calls come; empty for the same call again and again.
    """

    network: str
    kind: str
    rows: int
    special: str = ""

    @property
    def name(self) -> str:
        """As `--only` takes it."""
        batch = "train" if self.kind == TRAINING else f"b{self.rows}"
        return "/".join(filter(None, [self.network, batch, self.special.replace(" ", "_")]))

    @property
    def title(self) -> str:
        """The work, in a few words."""
        title = store.network(self.network).title
        return f"{title}, training step" if self.kind == TRAINING else title


# Settles where gradients shrink: the same rows again and again, until nothing is left to learn.
_FIXED = ("dense_classifier", "text_cnn", "vgg_like", "gru")
_CHANGING = ("dense_autoencoder", "bert_like", "bidirectional_lstm", "text_cnn", "squeeze_excite")
_LONG = (("resnet20", TRAINING), ("bert_like", INFERENCE), ("wide_and_deep", TRAINING))
# Those that suffered most when helpers found no core.
_NEIGHBOURS = (
    ("bert_like", TRAINING),
    ("bidirectional_lstm", INFERENCE),
    ("densenet_like", INFERENCE),
    ("gru", TRAINING),
    ("heartbeat", INFERENCE),
    ("mobilenet_v2", INFERENCE),
    ("text_cnn", TRAINING),
    ("unet", TRAINING),
    ("vgg_like", INFERENCE),
    ("wide_and_deep", TRAINING),
)


@cache
def ordinary() -> list[Workload]:
    """Each network at its batches, and its training step; those of odd sizes are special."""
    return [w for w in _all() if store.catalogue()[w.network][0] != "odd"]


@cache
def special() -> list[Workload]:
    """Odd sizes, a fixed batch until numbers get tiny, changing batches, a long run, neighbours."""
    odd = [w for w in _all() if store.catalogue()[w.network][0] == "odd"]
    fixed = [_row(name, TRAINING, FIXED) for name in _FIXED]
    changing = [_row(name, INFERENCE, CHANGING) for name in _CHANGING]
    long = [_row(name, kind, LONG) for name, kind in _LONG]
    return [*odd, *fixed, *changing, *long, *(_row(*pair, NEIGHBOURS) for pair in _NEIGHBOURS)]


def _all() -> list[Workload]:
    found = []
    for name, (_, network) in sorted(store.catalogue().items()):
        if network.inference:
            found += [Workload(name, INFERENCE, rows) for rows in network.batches]
        if network.training:
            found.append(Workload(name, TRAINING, network.training.rows))
    return found


def _row(name: str, kind: str, special: str) -> Workload:
    network = store.network(name)
    rows = network.training.rows if kind == TRAINING and network.training else network.batches[-1]
    return Workload(name, kind, rows, special)
