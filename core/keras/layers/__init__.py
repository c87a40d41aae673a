"""Layers, the components of models."""

import importlib as _importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

from pinnace.keras import registry as _registry
from pinnace.keras.input_spec import InputSpec as InputSpec
from pinnace.keras.layer import Layer as Layer
from pinnace.keras.layers.activation import ELU as ELU
from pinnace.keras.layers.activation import Activation as Activation
from pinnace.keras.layers.activation import LeakyReLU as LeakyReLU
from pinnace.keras.layers.activation import PReLU as PReLU
from pinnace.keras.layers.activation import ReLU as ReLU
from pinnace.keras.layers.activation import Softmax as Softmax
from pinnace.keras.layers.adaptive_pooling import (
    AdaptiveAveragePooling1D as AdaptiveAveragePooling1D,
)
from pinnace.keras.layers.adaptive_pooling import (
    AdaptiveAveragePooling2D as AdaptiveAveragePooling2D,
)
from pinnace.keras.layers.adaptive_pooling import (
    AdaptiveAveragePooling3D as AdaptiveAveragePooling3D,
)
from pinnace.keras.layers.adaptive_pooling import AdaptiveMaxPooling1D as AdaptiveMaxPooling1D
from pinnace.keras.layers.adaptive_pooling import AdaptiveMaxPooling2D as AdaptiveMaxPooling2D
from pinnace.keras.layers.adaptive_pooling import AdaptiveMaxPooling3D as AdaptiveMaxPooling3D
from pinnace.keras.layers.attention import AdditiveAttention as AdditiveAttention
from pinnace.keras.layers.attention import Attention as Attention
from pinnace.keras.layers.categories import CategoryEncoding as CategoryEncoding
from pinnace.keras.layers.categories import Hashing as Hashing
from pinnace.keras.layers.center_crop import CenterCrop as CenterCrop
from pinnace.keras.layers.conv import Conv1D as Conv1D
from pinnace.keras.layers.conv import Conv2D as Conv2D
from pinnace.keras.layers.conv import Conv3D as Conv3D
from pinnace.keras.layers.conv import Convolution1D as Convolution1D
from pinnace.keras.layers.conv import Convolution2D as Convolution2D
from pinnace.keras.layers.conv import Convolution3D as Convolution3D
from pinnace.keras.layers.conv_transpose import Conv1DTranspose as Conv1DTranspose
from pinnace.keras.layers.conv_transpose import Conv2DTranspose as Conv2DTranspose
from pinnace.keras.layers.conv_transpose import Conv3DTranspose as Conv3DTranspose
from pinnace.keras.layers.conv_transpose import Convolution1DTranspose as Convolution1DTranspose
from pinnace.keras.layers.conv_transpose import Convolution2DTranspose as Convolution2DTranspose
from pinnace.keras.layers.conv_transpose import Convolution3DTranspose as Convolution3DTranspose
from pinnace.keras.layers.dense import Dense as Dense
from pinnace.keras.layers.dense import last_axis as last_axis
from pinnace.keras.layers.depthwise import DepthwiseConv2D as DepthwiseConv2D
from pinnace.keras.layers.depthwise import SeparableConv2D as SeparableConv2D
from pinnace.keras.layers.depthwise import SeparableConvolution2D as SeparableConvolution2D
from pinnace.keras.layers.depthwise_steps import DepthwiseConv1D as DepthwiseConv1D
from pinnace.keras.layers.depthwise_steps import SeparableConv1D as SeparableConv1D
from pinnace.keras.layers.depthwise_steps import SeparableConvolution1D as SeparableConvolution1D
from pinnace.keras.layers.discretization import Discretization as Discretization
from pinnace.keras.layers.dropout import Dropout as Dropout
from pinnace.keras.layers.dropout import GaussianDropout as GaussianDropout
from pinnace.keras.layers.dropout import GaussianNoise as GaussianNoise
from pinnace.keras.layers.dropout import SpatialDropout1D as SpatialDropout1D
from pinnace.keras.layers.dropout import SpatialDropout2D as SpatialDropout2D
from pinnace.keras.layers.dropout import SpatialDropout3D as SpatialDropout3D
from pinnace.keras.layers.einsum_dense import EinsumDense as EinsumDense
from pinnace.keras.layers.embedding import Embedding as Embedding
from pinnace.keras.layers.group_normalization import GroupNormalization as GroupNormalization
from pinnace.keras.layers.group_normalization import RMSNormalization as RMSNormalization
from pinnace.keras.layers.grouped_attention import GroupQueryAttention as GroupQueryAttention
from pinnace.keras.layers.input import Input as Input
from pinnace.keras.layers.input import InputLayer as InputLayer
from pinnace.keras.layers.lambda_layers import Identity as Identity
from pinnace.keras.layers.lambda_layers import Lambda as Lambda
from pinnace.keras.layers.lookups import IntegerLookup as IntegerLookup
from pinnace.keras.layers.lookups import StringLookup as StringLookup
from pinnace.keras.layers.masking import Masking as Masking
from pinnace.keras.layers.merge import Add as Add
from pinnace.keras.layers.merge import Average as Average
from pinnace.keras.layers.merge import Concatenate as Concatenate
from pinnace.keras.layers.merge import Dot as Dot
from pinnace.keras.layers.merge import Maximum as Maximum
from pinnace.keras.layers.merge import Minimum as Minimum
from pinnace.keras.layers.merge import Multiply as Multiply
from pinnace.keras.layers.merge import Subtract as Subtract
from pinnace.keras.layers.merge import add as add
from pinnace.keras.layers.merge import average as average
from pinnace.keras.layers.merge import concatenate as concatenate
from pinnace.keras.layers.merge import dot as dot
from pinnace.keras.layers.merge import maximum as maximum
from pinnace.keras.layers.merge import minimum as minimum
from pinnace.keras.layers.merge import multiply as multiply
from pinnace.keras.layers.merge import subtract as subtract
from pinnace.keras.layers.multi_head_attention import MultiHeadAttention as MultiHeadAttention
from pinnace.keras.layers.normalization import BatchNormalization as BatchNormalization
from pinnace.keras.layers.normalization import LayerNormalization as LayerNormalization
from pinnace.keras.layers.normalization import UnitNormalization as UnitNormalization
from pinnace.keras.layers.pooling import AveragePooling1D as AveragePooling1D
from pinnace.keras.layers.pooling import AveragePooling2D as AveragePooling2D
from pinnace.keras.layers.pooling import AveragePooling3D as AveragePooling3D
from pinnace.keras.layers.pooling import AvgPool1D as AvgPool1D
from pinnace.keras.layers.pooling import AvgPool2D as AvgPool2D
from pinnace.keras.layers.pooling import AvgPool3D as AvgPool3D
from pinnace.keras.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from pinnace.keras.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from pinnace.keras.layers.pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from pinnace.keras.layers.pooling import GlobalAvgPool1D as GlobalAvgPool1D
from pinnace.keras.layers.pooling import GlobalAvgPool2D as GlobalAvgPool2D
from pinnace.keras.layers.pooling import GlobalAvgPool3D as GlobalAvgPool3D
from pinnace.keras.layers.pooling import GlobalMaxPool1D as GlobalMaxPool1D
from pinnace.keras.layers.pooling import GlobalMaxPool2D as GlobalMaxPool2D
from pinnace.keras.layers.pooling import GlobalMaxPool3D as GlobalMaxPool3D
from pinnace.keras.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from pinnace.keras.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from pinnace.keras.layers.pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from pinnace.keras.layers.pooling import MaxPool1D as MaxPool1D
from pinnace.keras.layers.pooling import MaxPool2D as MaxPool2D
from pinnace.keras.layers.pooling import MaxPool3D as MaxPool3D
from pinnace.keras.layers.pooling import MaxPooling1D as MaxPooling1D
from pinnace.keras.layers.pooling import MaxPooling2D as MaxPooling2D
from pinnace.keras.layers.pooling import MaxPooling3D as MaxPooling3D
from pinnace.keras.layers.preprocessing import Normalization as Normalization
from pinnace.keras.layers.preprocessing import Rescaling as Rescaling
from pinnace.keras.layers.preprocessing import Resizing as Resizing
from pinnace.keras.layers.recurrent import GRU as GRU
from pinnace.keras.layers.recurrent import LSTM as LSTM
from pinnace.keras.layers.recurrent import RNN as RNN
from pinnace.keras.layers.recurrent import Bidirectional as Bidirectional
from pinnace.keras.layers.recurrent import ConvLSTM1D as ConvLSTM1D
from pinnace.keras.layers.recurrent import ConvLSTM2D as ConvLSTM2D
from pinnace.keras.layers.recurrent import ConvLSTM3D as ConvLSTM3D
from pinnace.keras.layers.recurrent import GRUCell as GRUCell
from pinnace.keras.layers.recurrent import LSTMCell as LSTMCell
from pinnace.keras.layers.recurrent import SimpleRNN as SimpleRNN
from pinnace.keras.layers.recurrent import SimpleRNNCell as SimpleRNNCell
from pinnace.keras.layers.recurrent import StackedRNNCells as StackedRNNCells
from pinnace.keras.layers.regularization import ActivityRegularization as ActivityRegularization
from pinnace.keras.layers.regularization import AlphaDropout as AlphaDropout
from pinnace.keras.layers.reshape import Cropping1D as Cropping1D
from pinnace.keras.layers.reshape import Cropping2D as Cropping2D
from pinnace.keras.layers.reshape import Flatten as Flatten
from pinnace.keras.layers.reshape import Permute as Permute
from pinnace.keras.layers.reshape import RepeatVector as RepeatVector
from pinnace.keras.layers.reshape import Reshape as Reshape
from pinnace.keras.layers.reshape import UpSampling1D as UpSampling1D
from pinnace.keras.layers.reshape import UpSampling2D as UpSampling2D
from pinnace.keras.layers.reshape import ZeroPadding1D as ZeroPadding1D
from pinnace.keras.layers.reshape import ZeroPadding2D as ZeroPadding2D
from pinnace.keras.layers.saved import TFSMLayer as TFSMLayer
from pinnace.keras.layers.spectral import SpectralNormalization as SpectralNormalization
from pinnace.keras.layers.text import TextVectorization as TextVectorization
from pinnace.keras.layers.volumes import Cropping3D as Cropping3D
from pinnace.keras.layers.volumes import UpSampling3D as UpSampling3D
from pinnace.keras.layers.volumes import ZeroPadding3D as ZeroPadding3D
from pinnace.keras.layers.wrapper import TimeDistributed as TimeDistributed
from pinnace.keras.layers.wrapper import Wrapper as Wrapper

if TYPE_CHECKING:
    from pinnace.keras.layers.crossing import HashedCrossing as HashedCrossing
    from pinnace.keras.layers.feature_columns import DenseFeatures as DenseFeatures
    from pinnace.keras.layers.image_preprocessing.affine import RandomRotation as RandomRotation
    from pinnace.keras.layers.image_preprocessing.affine import RandomShear as RandomShear
    from pinnace.keras.layers.image_preprocessing.affine import (
        RandomTranslation as RandomTranslation,
    )
    from pinnace.keras.layers.image_preprocessing.affine import RandomZoom as RandomZoom
    from pinnace.keras.layers.image_preprocessing.brightness import AutoContrast as AutoContrast
    from pinnace.keras.layers.image_preprocessing.brightness import (
        RandomBrightness as RandomBrightness,
    )
    from pinnace.keras.layers.image_preprocessing.brightness import RandomContrast as RandomContrast
    from pinnace.keras.layers.image_preprocessing.brightness import (
        RandomPosterization as RandomPosterization,
    )
    from pinnace.keras.layers.image_preprocessing.brightness import Solarization as Solarization
    from pinnace.keras.layers.image_preprocessing.colours import (
        RandomColorDegeneration as RandomColorDegeneration,
    )
    from pinnace.keras.layers.image_preprocessing.crops import RandomCrop as RandomCrop
    from pinnace.keras.layers.image_preprocessing.filters import RandomSharpness as RandomSharpness
    from pinnace.keras.layers.image_preprocessing.histograms import Equalization as Equalization
    from pinnace.keras.layers.image_preprocessing.mixing import CutMix as CutMix
    from pinnace.keras.layers.image_preprocessing.mixing import MixUp as MixUp
    from pinnace.keras.layers.image_preprocessing.policies import RandAugment as RandAugment
    from pinnace.keras.layers.image_preprocessing.warps import RandomFlip as RandomFlip
    from pinnace.keras.layers.older import RandomHeight as RandomHeight
    from pinnace.keras.layers.older import RandomWidth as RandomWidth
    from pinnace.keras.layers.older import ThresholdedReLU as ThresholdedReLU
    from pinnace.keras.layers.pipeline import Pipeline as Pipeline
    from pinnace.keras.layers.reversible_embedding import ReversibleEmbedding as ReversibleEmbedding
    from pinnace.keras.layers.spectrograms import MelSpectrogram as MelSpectrogram
    from pinnace.keras.layers.spectrograms import STFTSpectrogram as STFTSpectrogram

# Rarely used layers are imported on demand.
_LATE = {
    "crossing": ("HashedCrossing",),
    "feature_columns": ("DenseFeatures",),
    "image_preprocessing.affine": (
        "RandomRotation",
        "RandomShear",
        "RandomTranslation",
        "RandomZoom",
    ),
    "image_preprocessing.crops": ("RandomCrop",),
    "image_preprocessing.brightness": (
        "AutoContrast",
        "RandomBrightness",
        "RandomContrast",
        "RandomPosterization",
        "Solarization",
    ),
    "image_preprocessing.colours": ("RandomColorDegeneration",),
    "image_preprocessing.filters": ("RandomSharpness",),
    "image_preprocessing.histograms": ("Equalization",),
    "image_preprocessing.mixing": ("CutMix", "MixUp"),
    "image_preprocessing.policies": ("RandAugment",),
    "image_preprocessing.warps": ("RandomFlip",),
    "older": ("RandomHeight", "RandomWidth", "ThresholdedReLU"),
    "pipeline": ("Pipeline",),
    "reversible_embedding": ("ReversibleEmbedding",),
    "spectrograms": ("MelSpectrogram", "STFTSpectrogram"),
}
_PLACES = {name: module for module, names in _LATE.items() for name in names}


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> _Any:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(_importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})


def serialize(layer: Layer) -> _Any:
    """The configuration of a layer, as `deserialize` takes it.

    Args:
        layer: a layer or model.
    """
    return _registry.serialize_keras_object(layer)


deserialize = _registry.deserialize_keras_object
