"""Metadata of .tflite files: what inputs and outputs mean, and the files that belong to them.

`document` is the metadata as nested fields, as FlatBuffers' own JSON has them, `packing` puts it
into a file and takes it out, `making` writes it of what a model knows and the user says, `keeping`
stores that of a file that is read beside the SavedModel which is made of it.
"""
