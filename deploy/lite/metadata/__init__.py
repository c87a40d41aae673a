"""Metadata of .tflite files: descriptions of inputs and outputs, and associated files.

`document` represents metadata as nested fields, like FlatBuffers' own JSON; `packing` writes it to
a file and reads it; `making` derives it from a model and the user's input; `keeping` stores the
metadata of a file in the SavedModel that is made from the file.
"""
