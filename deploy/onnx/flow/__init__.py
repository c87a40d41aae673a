"""The steps of an export.

`exporting.export` runs the steps, `options` are its arguments, `lowering` calls the converters. For
`cut_strings`, `frontier` finds the cut and `cutting` splits the program in two.
"""
