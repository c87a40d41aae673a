"""Strategies for layers in all configurations that affect sizes: see `layer_sizes`."""

from typing import Any

from hypothesis import strategies as st

from support.layer_sizes import Case

few = st.integers(1, 3)
channels = st.integers(1, 4)
size = st.integers(5, 9)
flags = st.booleans()
formats = st.sampled_from(["channels_last", "channels_first"])


def case(
    name: str, shapes: Any, dtype: str = "float32", call: str = "one", **options: Any
) -> st.SearchStrategy[Case]:
    """A layer whose options and shapes are random or fixed."""

    def strategy(x: Any) -> st.SearchStrategy[Any]:
        return x if isinstance(x, st.SearchStrategy) else st.just(x)

    return st.fixed_dictionaries(
        {
            "layer": st.just(name),
            "options": st.fixed_dictionaries({k: strategy(v) for k, v in options.items()}),
            "shapes": st.tuples(*[strategy(shape) for shape in shapes]).map(list),
            "dtype": st.just(dtype),
            "call": st.just(call),
        }
    )


def inside(name: str, **options: Any) -> Any:
    """A layer as an argument of another."""
    return {"layer": name, "options": options}


def spatial(rank: int, low: int = 5, high: int = 9) -> st.SearchStrategy[list[int]]:
    """Sizes of images and a number of channels, channels last."""
    return st.tuples(*[st.integers(low, high)] * rank, channels).map(list)


def per_axis(rank: int, values: st.SearchStrategy[int] = few) -> st.SearchStrategy[Any]:
    """One number, or one for each axis."""
    return values | st.lists(values, min_size=rank, max_size=rank)


def sides(rank: int) -> st.SearchStrategy[Any]:
    """Padding: a number, one per axis, a pair per axis."""
    pair = st.lists(st.integers(0, 2), min_size=2, max_size=2)
    if rank == 1:
        return st.integers(0, 2) | pair
    number = st.integers(0, 2)
    return (
        number
        | st.lists(number, min_size=rank, max_size=rank)
        | st.lists(pair, min_size=rank, max_size=rank)
    )


@st.composite
def convolution(draw: Any, /, name: str, rank: int, **more: Any) -> Case:
    """A convolution: strides or dilation, not both."""
    options: Any = {
        "kernel_size": per_axis(rank),
        "padding": st.sampled_from(["valid", "same"]),
        **more,
    }
    options["strides" if draw(flags) else "dilation_rate"] = few
    if rank == 1 and name == "Conv1D":
        options["padding"] = st.sampled_from(["valid", "same", "causal"])
    found: Case = draw(case(name, [spatial(rank, 7, 9)], **options))
    return found


def transposed(name: str, rank: int) -> st.SearchStrategy[Case]:
    return case(
        name,
        [spatial(rank, 2, 4)],
        filters=channels,
        kernel_size=per_axis(rank),
        strides=few,
        padding=st.sampled_from(["valid", "same"]),
    )


def pooled(name: str, rank: int) -> st.SearchStrategy[Case]:
    return case(
        name,
        [spatial(rank)],
        pool_size=per_axis(rank),
        strides=st.none() | few,
        padding=st.sampled_from(["valid", "same"]),
    )


def recurrent(name: str) -> st.SearchStrategy[Case]:
    return case(
        name,
        [spatial(1)],
        units=channels,
        return_sequences=flags,
        return_state=flags,
        go_backwards=flags,
    )


def pictures(name: str, **options: Any) -> st.SearchStrategy[Case]:
    return case(name, [st.tuples(size, size, st.just(3)).map(list)], **options)


def merged(name: str, **options: Any) -> st.SearchStrategy[Case]:
    return spatial(2).flatmap(lambda s: case(name, [s] * 3, call="list", **options))


@st.composite
def anything(draw: Any, /, name: str, **options: Any) -> Case:
    """A layer that takes any rank."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    found: Case = draw(case(name, [shape], **options))
    return found


@st.composite
def reshaped(draw: Any) -> Case:
    shape = [draw(few), draw(few), 4]
    count = shape[0] * shape[1] * 4
    target = draw(st.sampled_from([[count], [-1], [4, -1], [-1, 2], [2, count // 2], [2, 2, -1]]))
    found: Case = draw(case("Reshape", [shape], target_shape=st.just(target)))
    return found


@st.composite
def permuted(draw: Any) -> Case:
    shape = draw(spatial(2))
    found: Case = draw(case("Permute", [shape], dims=st.permutations([1, 2, 3])))
    return found


@st.composite
def dot(draw: Any) -> Case:
    length, first, second = draw(few), draw(few), draw(few)
    axes = draw(st.sampled_from([2, [2, 2], [2, 1], [1, 2], 1]))
    one, other = (axes, axes) if isinstance(axes, int) else axes
    shapes = [
        [first, length] if one == 2 else [length, first],
        [second, length] if other == 2 else [length, second],
    ]
    return {
        "layer": "Dot",
        "options": {"axes": axes, "normalize": draw(flags)},
        "shapes": shapes,
        "dtype": "float32",
        "call": "list",
    }


@st.composite
def concatenated(draw: Any) -> Case:
    axis = draw(st.sampled_from([1, 2, 3, -1]))
    shape = draw(spatial(2))
    other = list(shape)
    other[axis - 1 if axis > 0 else axis] = draw(few)
    found: Case = draw(case("Concatenate", [shape, other], call="list", axis=st.just(axis)))
    return found


modes = st.sampled_from(["int", "one_hot", "multi_hot", "count"])


@st.composite
def categories(draw: Any, /, name: str, dtype: str, **options: Any) -> Case:
    """Lookups and similar layers: `one_hot` of one column, others of several."""
    mode = draw(modes if name != "CategoryEncoding" else modes.filter(lambda m: m != "int"))
    width = 1 if mode == "one_hot" else draw(few)
    found: Case = draw(case(name, [[width]], dtype, output_mode=st.just(mode), **options))
    return found


@st.composite
def texts(draw: Any) -> Case:
    length = draw(st.none() | few)
    mode = draw(st.sampled_from(["int", "multi_hot", "count"])) if length is None else "int"
    found: Case = draw(
        case(
            "TextVectorization",
            [[]],
            "string",
            vocabulary=st.just(["a", "b", "c"]),
            output_mode=st.just(mode),
            output_sequence_length=st.just(length),
        )
    )
    return found


@st.composite
def conv_lstm(draw: Any, rank: int) -> Case:
    shape = [draw(few), *[draw(st.integers(4, 5))] * rank, draw(few)]
    options: Any = {
        "filters": few,
        "kernel_size": st.integers(1, 2),
        "padding": st.sampled_from(["valid", "same"]),
        "strides": st.integers(1, 2),
        "return_sequences": flags,
    }
    found: Case = draw(case(f"ConvLSTM{rank}D", [shape], **options))
    return found


@st.composite
def attended(draw: Any, /, name: str, call: str, **options: Any) -> Case:
    width = 4
    query, value = [draw(size), width], [draw(size), width]
    found: Case = draw(case(name, [query, value], call=call, **options))
    return found


def layers_of_rank(rank: int) -> dict[str, st.SearchStrategy[Case]]:
    """The layers that exist with one, two and three spatial dimensions."""
    options: Any = {"data_format": st.just("channels_last")}
    return {
        f"Conv{rank}D": convolution(f"Conv{rank}D", rank, filters=channels),
        f"Conv{rank}DTranspose": transposed(f"Conv{rank}DTranspose", rank),
        f"MaxPooling{rank}D": pooled(f"MaxPooling{rank}D", rank),
        f"AveragePooling{rank}D": pooled(f"AveragePooling{rank}D", rank),
        **{
            f"Global{kind}Pooling{rank}D": case(
                f"Global{kind}Pooling{rank}D", [spatial(rank)], keepdims=flags, **options
            )
            for kind in ("Max", "Average")
        },
        **{
            f"Adaptive{kind}Pooling{rank}D": case(
                f"Adaptive{kind}Pooling{rank}D", [spatial(rank)], output_size=per_axis(rank)
            )
            for kind in ("Max", "Average")
        },
        f"ZeroPadding{rank}D": case(f"ZeroPadding{rank}D", [spatial(rank)], padding=sides(rank)),
        f"Cropping{rank}D": case(f"Cropping{rank}D", [spatial(rank)], cropping=sides(rank)),
        f"UpSampling{rank}D": case(
            f"UpSampling{rank}D", [spatial(rank)], size=few if rank == 1 else per_axis(rank)
        ),
        f"SpatialDropout{rank}D": case(f"SpatialDropout{rank}D", [spatial(rank)], rate=0.5),
        f"ConvLSTM{rank}D": conv_lstm(rank),
    }


factor = st.just(0.2)
LAYERS: dict[str, st.SearchStrategy[Case]] = {
    **layers_of_rank(1),
    **layers_of_rank(2),
    **layers_of_rank(3),
    "UpSampling2D": case(
        "UpSampling2D",
        [spatial(2)],
        size=per_axis(2),
        interpolation=st.sampled_from(["nearest", "bilinear", "bicubic"]),
    ),
    "DepthwiseConv1D": convolution("DepthwiseConv1D", 1, depth_multiplier=few),
    "DepthwiseConv2D": case(
        "DepthwiseConv2D", [spatial(2)], kernel_size=per_axis(2), depth_multiplier=few, strides=few
    ),
    "SeparableConv1D": convolution("SeparableConv1D", 1, filters=channels),
    "SeparableConv2D": case(
        "SeparableConv2D", [spatial(2)], filters=channels, kernel_size=per_axis(2), strides=few
    ),
    "Dense": anything("Dense", units=channels),
    "EinsumDense": case(
        "EinsumDense", [spatial(1)], equation="...x,xy->...y", output_shape=channels
    ),
    "Activation": anything("Activation", activation="relu"),
    "ReLU": anything("ReLU", max_value=st.none() | st.just(1.0)),
    "LeakyReLU": anything("LeakyReLU"),
    "ELU": anything("ELU"),
    "PReLU": case("PReLU", [spatial(2)], shared_axes=st.sampled_from([None, [1], [1, 2]])),
    "Softmax": anything("Softmax"),
    "Dropout": anything("Dropout", rate=0.5),
    "AlphaDropout": anything("AlphaDropout", rate=0.5),
    "GaussianDropout": anything("GaussianDropout", rate=0.5),
    "GaussianNoise": anything("GaussianNoise", stddev=0.5),
    "ActivityRegularization": anything("ActivityRegularization", l1=0.1),
    "Identity": anything("Identity"),
    "Masking": case("Masking", [spatial(1)]),
    "BatchNormalization": anything("BatchNormalization"),
    "LayerNormalization": anything("LayerNormalization"),
    "RMSNormalization": anything("RMSNormalization"),
    "UnitNormalization": anything("UnitNormalization"),
    "GroupNormalization": case("GroupNormalization", [spatial(2)], groups=1),
    "SpectralNormalization": case(
        "SpectralNormalization", [spatial(1)], layer=inside("Dense", units=3)
    ),
    "Flatten": anything("Flatten"),
    "Reshape": reshaped(),
    "Permute": permuted(),
    "RepeatVector": case("RepeatVector", [st.tuples(channels).map(list)], n=few),
    "Add": merged("Add"),
    "Average": merged("Average"),
    "Maximum": merged("Maximum"),
    "Minimum": merged("Minimum"),
    "Multiply": merged("Multiply"),
    "Subtract": spatial(2).flatmap(lambda s: case("Subtract", [s] * 2, call="list")),
    "Concatenate": concatenated(),
    "Dot": dot(),
    "Embedding": case("Embedding", [[3], [2, 3]][:1], "int32", input_dim=5, output_dim=channels),
    "Rescaling": anything("Rescaling", scale=0.5),
    "Normalization": anything("Normalization", axis=None, mean=0.0, variance=1.0),
    "Discretization": categories("Discretization", "float32", bin_boundaries=st.just([0.5, 1.5])),
    "CategoryEncoding": categories("CategoryEncoding", "int64", num_tokens=st.integers(3, 5)),
    "Hashing": categories("Hashing", "int64", num_bins=st.integers(3, 5)),
    "IntegerLookup": categories("IntegerLookup", "int64", vocabulary=st.just([1, 2, 3])),
    "StringLookup": categories("StringLookup", "string", vocabulary=st.just(["a", "b"])),
    "TextVectorization": texts(),
    "RandomRotation": pictures("RandomRotation", factor=factor),
    "RandomTranslation": pictures("RandomTranslation", height_factor=factor, width_factor=factor),
    "RandomZoom": pictures("RandomZoom", height_factor=factor),
    "RandomFlip": pictures("RandomFlip"),
    "RandomContrast": pictures("RandomContrast", factor=factor),
    "RandomBrightness": pictures("RandomBrightness", factor=factor),
    **{
        name: pictures(name)
        for name in (
            *("AutoContrast", "CutMix", "Equalization", "MixUp", "RandAugment", "RandomShear"),
            "Solarization",
        )
    },
    **{
        name: pictures(name, factor=factor)
        for name in (
            *("RandomColorDegeneration", "RandomSharpness"),
            *("RandomHeight", "RandomWidth"),
        )
    },
    "RandomPosterization": pictures("RandomPosterization", factor=few),
    "MelSpectrogram": case(
        "MelSpectrogram",
        [st.tuples(st.integers(40, 80)).map(list)],
        fft_length=16,
        sequence_stride=few,
        num_mel_bins=few,
        max_freq=4000,
    ),
    "STFTSpectrogram": case(
        "STFTSpectrogram",
        [st.tuples(st.integers(20, 40), channels).map(list)],
        mode=st.sampled_from(["log", "magnitude", "psd", "real", "imag", "angle", "stft"]),
        frame_length=8,
        frame_step=few,
        padding=st.sampled_from(["valid", "same"]),
        expand_dims=flags,
    ),
    "ThresholdedReLU": anything("ThresholdedReLU", theta=0.5),
    "ReversibleEmbedding": case(
        "ReversibleEmbedding", [[3]], "int32", input_dim=5, output_dim=channels
    ),
    "RandomCrop": pictures("RandomCrop", height=size, width=size),
    "CenterCrop": pictures("CenterCrop", height=size, width=size),
    "Resizing": st.sampled_from(["crop_to_aspect_ratio", "pad_to_aspect_ratio", "name"]).flatmap(
        lambda flag: pictures(
            "Resizing", height=size, width=size, **({} if flag == "name" else {flag: True})
        )
    ),
    "LSTM": recurrent("LSTM"),
    "GRU": recurrent("GRU"),
    "SimpleRNN": recurrent("SimpleRNN"),
    "RNN": case(
        "RNN",
        [spatial(1)],
        cell=[inside("LSTMCell", units=3), inside("GRUCell", units=4)],
        return_sequences=flags,
    ),
    "Bidirectional": case(
        "Bidirectional",
        [spatial(1)],
        layer=flags.map(lambda b: inside("LSTM", units=3, return_sequences=b)),
        merge_mode=st.sampled_from(["concat", "sum", "ave", None]),
    ),
    "TimeDistributed": case(
        "TimeDistributed", [spatial(3)], layer=inside("Conv2D", filters=3, kernel_size=2)
    ),
    "MultiHeadAttention": attended(
        "MultiHeadAttention", "several", num_heads=few, key_dim=few, output_shape=st.none() | few
    ),
    "GroupQueryAttention": attended(
        "GroupQueryAttention", "several", head_dim=few, num_query_heads=4, num_key_value_heads=2
    ),
    "Attention": attended("Attention", "list"),
    "AdditiveAttention": attended("AdditiveAttention", "list"),
}
# Without sizes: base classes, wrappers of an input or a SavedModel, and cells, which loops call.
OTHERS = {
    *("Layer", "Wrapper", "InputLayer", "Lambda", "StackedRNNCells"),
    *("LSTMCell", "GRUCell", "SimpleRNNCell", "TFSMLayer"),
    # They take dicts, lists of features, or layers.
    *("DenseFeatures", "HashedCrossing", "Pipeline"),
}
