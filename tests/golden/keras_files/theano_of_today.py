# ruff: noqa: PYI024, ARG001 (as the old ones were)
"""Restores what Theano and old Keras expect of Python, NumPy and SciPy; imported before Keras.

One line of the installed theano-pymc must be edited: `Pool.perform` in its
theano/tensor/signal/pool.py indexes with a list of slices, which NumPy accepts only as a tuple.
"""

import collections
import collections.abc
import inspect

import numpy.distutils.__config__ as config
import scipy.signal
from scipy.signal import _signaltools, _sigtools

Arguments = collections.namedtuple("Arguments", "args varargs keywords defaults")
inspect.getargspec = lambda function: Arguments(*inspect.getfullargspec(function)[:4])
for name in ("Iterable", "Callable", "Mapping", "MutableMapping", "Sequence", "Hashable"):
    setattr(collections, name, getattr(collections.abc, name))
config.blas_opt_info = {}

import theano  # noqa: E402 (what is above is for it)
import theano.ifelse  # noqa: E402
import theano.sandbox.rng_mrg as draws  # noqa: E402
import theano.tensor.nnet.abstract_conv as convolutions  # noqa: E402

draws.MRG_RandomStreams = draws.MRG_RandomStream
convolutions.imported_scipy_signal = True
convolutions._valfrommode = _signaltools._valfrommode
convolutions._bvalfromboundary = _signaltools._bvalfromboundary
convolutions._convolve2d = _sigtools._convolve2d
convolutions.convolve = scipy.signal.convolve


def go_forwards() -> None:
    """Make Theano's convolutions not flip their kernels, like TensorFlow's."""
    convolve = theano.tensor.nnet.conv2d

    def conv2d(*args, filter_flip=True, filter_dilation=(1, 1), **options):
        """A convolution under the name that Keras uses."""
        return convolve(*args, filter_flip=False, filter_dilation=filter_dilation, **options)

    named = inspect.getargspec

    def named_too(function):
        if function is conv2d:
            return Arguments(["filter_flip", "filter_dilation"], None, None, None)
        return named(function)

    inspect.getargspec = named_too
    theano.tensor.nnet.conv2d = conv2d

    class Forwards(convolutions.AbstractConv2d_gradInputs):
        """A transposed convolution."""

        def __init__(self, *args, **options):
            super().__init__(*args, **{**options, "filter_flip": False})

    convolutions.AbstractConv2d_gradInputs = Forwards
