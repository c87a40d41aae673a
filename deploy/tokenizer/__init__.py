"""What a model does with strings before they are numbers, as data, and the programs that run it.

Ops become steps (`steps`: strings, `numbers`: what stands between them and token ids), regular
expressions trees (`expressions`, `sets`), and both a JSON file (`document`). `tokenizer.py` and
`tokenizer.js` run it: they are copied beside exported files and import nothing.
"""
