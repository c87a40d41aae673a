"""Functions of tensors under Keras' names, which can be nodes of functional models."""

from pinnace.keras.ops import image as image
from pinnace.keras.ops import linalg as linalg
from pinnace.keras.ops import nn as nn
from pinnace.keras.ops import numpy as numpy
from pinnace.keras.ops.arrays import convert_to_tensor as convert_to_tensor
from pinnace.keras.ops.arrays import shape as shape
from pinnace.keras.ops.arrays import slice as slice
from pinnace.keras.ops.arrays import stop_gradient as stop_gradient
from pinnace.keras.ops.arrays import unstack as unstack
from pinnace.keras.ops.control import cond as cond
from pinnace.keras.ops.control import custom_gradient as custom_gradient
from pinnace.keras.ops.control import fori_loop as fori_loop
from pinnace.keras.ops.control import map as map
from pinnace.keras.ops.control import switch as switch
from pinnace.keras.ops.control import vectorized_map as vectorized_map
from pinnace.keras.ops.control import while_loop as while_loop
from pinnace.keras.ops.elementwise import cast as cast
from pinnace.keras.ops.elementwise import erf as erf
from pinnace.keras.ops.elementwise import rsqrt as rsqrt
from pinnace.keras.ops.inquiries import convert_to_numpy as convert_to_numpy
from pinnace.keras.ops.inquiries import dtype as dtype
from pinnace.keras.ops.inquiries import is_tensor as is_tensor
from pinnace.keras.ops.linalg import *
from pinnace.keras.ops.matrices import logdet as logdet
from pinnace.keras.ops.networks import erfinv as erfinv
from pinnace.keras.ops.nn import *
from pinnace.keras.ops.numeric import erfc as erfc
from pinnace.keras.ops.numeric import saturate_cast as saturate_cast
from pinnace.keras.ops.numeric import view_as_complex as view_as_complex
from pinnace.keras.ops.numeric import view_as_real as view_as_real
from pinnace.keras.ops.numpy import *
from pinnace.keras.ops.rearranging import rearrange as rearrange
from pinnace.keras.ops.reductions import logsumexp as logsumexp
from pinnace.keras.ops.reductions import top_k as top_k
from pinnace.keras.ops.scans import associative_scan as associative_scan
from pinnace.keras.ops.scans import scan as scan
from pinnace.keras.ops.scatters import scatter as scatter
from pinnace.keras.ops.scatters import scatter_update as scatter_update
from pinnace.keras.ops.scatters import segment_max as segment_max
from pinnace.keras.ops.scatters import segment_min as segment_min
from pinnace.keras.ops.scatters import segment_prod as segment_prod
from pinnace.keras.ops.scatters import segment_sum as segment_sum
from pinnace.keras.ops.scatters import slice_update as slice_update
from pinnace.keras.ops.searching import in_top_k as in_top_k
from pinnace.keras.ops.spectra import extract_sequences as extract_sequences
from pinnace.keras.ops.spectra import fft as fft
from pinnace.keras.ops.spectra import fft2 as fft2
from pinnace.keras.ops.spectra import ifft2 as ifft2
from pinnace.keras.ops.spectra import irfft as irfft
from pinnace.keras.ops.spectra import istft as istft
from pinnace.keras.ops.spectra import rfft as rfft
from pinnace.keras.ops.spectra import stft as stft
from pinnace.keras.ops.vectors import cdist as cdist
