"""The layers of @tensorflow/tfjs-layers 4.22.0, with the arguments that each reads.

Arguments that are not listed are ignored there, and must have Keras' default.
"""

_CONV = "filters kernel_size strides padding data_format dilation_rate activation use_bias"
_POOL = "pool_size strides padding data_format"
_RECURRENT = (
    "units activation use_bias dropout recurrent_dropout return_sequences return_state "
    "go_backwards stateful unroll"
)
_TEXT = {
    "InputLayer": "batch_input_shape sparse",
    "Dense": "units activation use_bias",
    "Flatten": "data_format",
    "Activation": "activation",
    "RepeatVector": "n",
    "Reshape": "target_shape",
    "Permute": "dims",
    "Masking": "mask_value",
    "Embedding": "input_dim output_dim mask_zero",
    "Dropout": "rate noise_shape seed",
    "SpatialDropout1D": "rate seed",
    "GaussianNoise": "stddev",
    "GaussianDropout": "rate",
    "AlphaDropout": "rate noise_shape",
    "Add": "",
    "Multiply": "",
    "Average": "",
    "Maximum": "",
    "Minimum": "",
    "Concatenate": "axis",
    "Dot": "axes normalize",
    "BatchNormalization": "axis momentum epsilon center scale",
    "LayerNormalization": "axis epsilon center scale",
    "ZeroPadding2D": "padding data_format",
    "Cropping2D": "cropping data_format",
    "UpSampling2D": "size data_format interpolation",
    "Conv1D": _CONV,
    "Conv2D": _CONV,
    "Conv3D": _CONV,
    "Conv2DTranspose": "filters kernel_size strides padding data_format activation use_bias",
    "Conv3DTranspose": "filters kernel_size strides padding data_format activation use_bias",
    "SeparableConv2D": f"{_CONV} depth_multiplier",
    "DepthwiseConv2D": "kernel_size strides padding data_format dilation_rate activation use_bias "
    "depth_multiplier",
    "MaxPooling1D": _POOL,
    "AveragePooling1D": _POOL,
    "MaxPooling2D": _POOL,
    "AveragePooling2D": _POOL,
    "MaxPooling3D": _POOL,
    "AveragePooling3D": _POOL,
    "GlobalAveragePooling1D": "",
    "GlobalMaxPooling1D": "",
    "GlobalAveragePooling2D": "data_format",
    "GlobalMaxPooling2D": "data_format",
    "SimpleRNN": _RECURRENT,
    "LSTM": f"{_RECURRENT} recurrent_activation unit_forget_bias",
    "GRU": f"{_RECURRENT} recurrent_activation reset_after",
    "TimeDistributed": "layer",
    "Bidirectional": "layer merge_mode backward_layer",
    "ReLU": "max_value",
    "LeakyReLU": "alpha",
    "PReLU": "shared_axes",
    "ELU": "alpha",
    "Softmax": "axis",
    "Rescaling": "scale offset",
}
LAYERS: dict[str, frozenset[str]] = {name: frozenset(keys.split()) for name, keys in _TEXT.items()}
# Keras' names of arguments -> their names there.
RENAMED = {("LeakyReLU", "negative_slope"): "alpha"}
# Keras' names of functions -> their names there, in words that the reader joins.
ACTIVATIONS = {
    "linear": "linear",
    "relu": "relu",
    "relu6": "relu6",
    "sigmoid": "sigmoid",
    "softplus": "softplus",
    "softsign": "softsign",
    "tanh": "tanh",
    "softmax": "softmax",
    "selu": "selu",
    "elu": "elu",
    "log_softmax": "log_softmax",
    "silu": "swish",
    "swish": "swish",
    "mish": "mish",
    "gelu": "gelu",
}
