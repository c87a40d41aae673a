"""Codecs for graphs and TensorFlow's messages: encode_x beside decode_x, one file per type.

Decoding trusts nothing: any message gives a value or one OpError that says where. `where` in the
arguments is the place that such an error names: a file, then function, node and field.
"""
