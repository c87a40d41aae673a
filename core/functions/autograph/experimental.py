"""`tf.autograph.experimental`."""

from pinnace.functions.autograph.conversion import do_not_convert as do_not_convert
from pinnace.functions.autograph.options import Feature as Feature
from pinnace.functions.autograph.options import set_loop_options as set_loop_options
