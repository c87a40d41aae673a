"""An export from beginning to end.

`exporting.export` is the walk, `options` what it is asked for, `lowering` the step that calls the
converters. With strings cut off, `frontier` finds where and `cutting` parts the program in two.
"""
