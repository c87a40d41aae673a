"""The string processing of a model as data, and the programs that run it.

Ops become steps (`steps` for strings, `numbers` for the ops up to token ids) and regular
expressions become trees (`expressions`, `sets`), all in a JSON file (`document`). `tokenizer.py`
and `tokenizer.js` run it: they are copied beside exported files and have no dependencies.
"""
