"""sefr_cut: deepcut's network below a field of conditional probabilities."""

import json

import sefr_cut

sefr_cut.load_model(engine="ws1000")
print(json.dumps(sefr_cut.tokenize(["สวัสดีประเทศไทย", "ลุงตู่สู้ๆ"])))
