"""Ops of TensorFlow Text in language models.

Normal forms, splitting, WordPiece and SentencePiece; states, trees and sentences.
"""

from pinnace.ops.text import labelled_words as labelled_words
from pinnace.ops.text import normalization as normalization
from pinnace.ops.text import overlap as overlap
from pinnace.ops.text import sentence_fragments as sentence_fragments
from pinnace.ops.text import sentencepieces as sentencepieces
from pinnace.ops.text import spanning_trees as spanning_trees
from pinnace.ops.text import splitting as splitting
from pinnace.ops.text import state_sequences as state_sequences
from pinnace.ops.text import trimming as trimming
from pinnace.ops.text import wordpieces as wordpieces
