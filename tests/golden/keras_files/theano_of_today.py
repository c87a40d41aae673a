# ruff: noqa: PYI024, ARG001 (as the old ones were)
"""What Theano and old Keras expect of Python, NumPy and SciPy, put back; imported before Keras.

One line has to be edited where theano-pymc is installed: `Pool.perform` in its
theano/tensor/signal/pool.py indexes with a list of slices, which NumPy takes as a tuple alone.
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
    """Theano's convolutions read their kernels as TensorFlow's do."""
    convolve = theano.tensor.nnet.conv2d

    def conv2d(*args, filter_flip=True, filter_dilation=(1, 1), **options):
        """Named as Keras asks for it."""
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
