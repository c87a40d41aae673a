"""The steps from a model's strings to numbers, as data, and the programs that run them.

Ops become steps (`steps`: strings, `numbers`: what stands between them and token ids), regular
expressions trees (`expressions`, `sets`), and both a JSON file (`document`). `tokenizer.py` and
`tokenizer.js` run it: they are copied beside exported files and import nothing.
"""
