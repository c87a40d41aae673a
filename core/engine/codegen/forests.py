"""Decision forests as machine code: rows descend the trees, and their leaves are summed.

It handles every forest; `compared_forests` is for most: those without sets and weighted sums.

A node is four contiguous words: its kind, the direction of missing values and its column (`kind |
missing << 4 | column << 5`), the bits of the threshold, the positive child, and the index of its
categories or weights; the negative child is the next node. All rows of a block pass through one
tree before the next, so that the tree stays in the cache.
"""

from __future__ import annotations

# Kinds are those of `ops.trees.forest`.
_FOREST = """
FLOATS = types.Array(float32, 1, "C", readonly=True)
WORDS = types.Array(types.int32, 1, "C", readonly=True)
LONGS = types.Array(int64, 1, "C", readonly=True)
BYTES = types.Array(types.uint8, 1, "C", readonly=True)
SUMS = types.Array(types.float64, 1, "C")


@njit
def is_set(bits, at):
    return (bits[at >> 3] >> (at & 7)) & 1 == 1


@njit([void(int64, int64, int64, int64, int64, int64, int64, FLOATS, WORDS, WORDS, LONGS, WORDS,
            FLOATS, WORDS, BYTES, WORDS, FLOATS, FLOATS, LONGS, LONGS, WORDS, WORDS, FLOATS,
            SUMS)],
      cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, wide, categories_wide, sets_wide, outputs, stride, numbers, categories,
           items, bounds, nodes, thresholds, counts, bits, columns, weights, replacements, cuts,
           set_cuts, roots, slots, values, sums):
    for first in range(start, stop, 64):
        last = min(first + 64, stop)
        for tree in range(roots.size):
            for row in range(first, last):
                at = np.int64(roots[tree])
                while True:
                    head = nodes[4 * at]
                    kind = head & 15
                    if kind == 0:
                        break
                    up = (head >> 4) & 1 == 1
                    column = head >> 5
                    if kind <= 2:
                        x = numbers[row * wide + column]
                        if x == x:
                            up = kind == 1 and x >= thresholds[4 * at + 1]
                    elif kind <= 4:
                        category = np.int64(categories[row * categories_wide + column])
                        if category != -1:
                            if category < 0 or category >= cuts[column]:
                                category = 0
                            up = kind == 3 and is_set(bits, nodes[4 * at + 3] + category)
                    elif kind <= 6:
                        cell = row * sets_wide + column
                        begin, end = bounds[cell], bounds[cell + 1]
                        if begin == end or items[begin] != -1:
                            up = False
                            if kind == 5:
                                for place in range(begin, end):
                                    category = np.int64(items[place])
                                    if category < 0 or category >= set_cuts[column]:
                                        category = 0
                                    if is_set(bits, nodes[4 * at + 3] + category):
                                        up = True
                                        break
                    else:
                        total = np.float32(0)
                        lacks = False
                        begin = nodes[4 * at + 3]
                        for place in range(begin, begin + counts[at]):
                            x = numbers[row * wide + columns[place]]
                            if x != x:
                                x = replacements[place]
                                if x != x:
                                    lacks = True
                                    break
                            total += x * weights[place]
                        if not lacks:
                            up = total >= thresholds[4 * at + 1]
                    at = nodes[4 * at + 2] if up else at + 1
                slot = slots[at]
                if stride > 1:
                    sums[row * stride + tree % stride] += values[slot]
                else:
                    for k in range(outputs):
                        sums[row * outputs + k] += values[slot * outputs + k]
"""

TEXTS = {"forest": _FOREST}
