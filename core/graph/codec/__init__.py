"""Codecs for graphs and TensorFlow's messages: encode_x and decode_x, one file per type.

Graphs alone are apart: `encoding` writes them and stands below their class, whose methods call it;
`functions` and `graphs` read them.

Decoding trusts nothing: any message gives a value or one OpError that says where. `where` in the
arguments is the place that such an error names: a file, then function, node and field.
"""
