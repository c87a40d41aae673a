"""`tf.lookup`: tables from keys to values."""

from pinnace.lookup import experimental as experimental
from pinnace.lookup.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from pinnace.lookup.initializers import TextFileIndex as TextFileIndex
from pinnace.lookup.initializers import TextFileInitializer as TextFileInitializer
from pinnace.lookup.static import StaticHashTable as StaticHashTable
from pinnace.lookup.static import StaticVocabularyTable as StaticVocabularyTable
