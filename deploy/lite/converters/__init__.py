"""Converters of ops to built-in operators: one function per op, registered by the op's name."""

from pinnace.deploy.lite.converters import arithmetic as arithmetic
from pinnace.deploy.lite.converters import arrays as arrays
from pinnace.deploy.lite.converters import bits as bits
from pinnace.deploy.lite.converters import control as control
from pinnace.deploy.lite.converters import convolution as convolution
from pinnace.deploy.lite.converters import effects as effects
from pinnace.deploy.lite.converters import functions as functions
from pinnace.deploy.lite.converters import images as images
from pinnace.deploy.lite.converters import moved_windows as moved_windows
from pinnace.deploy.lite.converters import products as products
from pinnace.deploy.lite.converters import reduction as reduction
from pinnace.deploy.lite.converters import tables as tables
from pinnace.deploy.lite.converters import tensor_lists as tensor_lists
