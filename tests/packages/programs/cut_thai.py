"""deepcut: a convolutional network in Keras's functional API, weights in a file of Keras 2."""

import json

import deepcut

TEXTS = ["ตัดคำได้ดีมาก", "ทดสอบภาษาไทย hello 123", "ฉันรักภาษาไทยเพราะฉันเป็นคนไทย"]
print(json.dumps([deepcut.tokenize(text) for text in TEXTS]))
