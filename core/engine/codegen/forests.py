"""Decision forests as machine code: rows descend the trees, and their leaves are summed.

Forests that only compare numbers, which most do, take a step of all rows of a block before the
next one: rows wait for their own memory then, not for one another's, and nothing is guessed.

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


@njit([void(int64, int64, int64, int64, int64, int64, int64, int64, FLOATS, WORDS, WORDS, LONGS,
            WORDS, FLOATS, WORDS, BYTES, WORDS, FLOATS, FLOATS, LONGS, LONGS, WORDS, WORDS,
            FLOATS, SUMS)],
      cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, plain, wide, categories_wide, sets_wide, outputs, stride, numbers,
           categories, items, bounds, nodes, thresholds, counts, bits, columns, weights,
           replacements, cuts, set_cuts, roots, slots, values, sums):
    places = np.empty(64, np.int64)
    for first in range(start, stop, 64):
        last = min(first + 64, stop)
        for tree in range(roots.size):
            root = roots[tree]
            goes_on = plain == 1
            for place in range(last - first):
                places[place] = root
            while goes_on:
                going = np.uint64(0)
                for place in range(last - first):
                    at = np.uint64(places[place])
                    head = np.uint64(nodes[np.uint64(4) * at])
                    limit = thresholds[np.uint64(4) * at + np.uint64(1)]
                    positive = np.uint64(nodes[np.uint64(4) * at + np.uint64(2)])
                    kind = head & np.uint64(15)
                    cell = np.uint64((first + place) * wide)
                    x = numbers[cell + (head >> np.uint64(5))]
                    lacks = (x != x) & ((head >> np.uint64(4)) & np.uint64(1) == np.uint64(1))
                    up = ((kind == np.uint64(1)) & (x >= limit)) | lacks
                    below = positive if up else at + np.uint64(1)
                    places[place] = np.int64(below if kind != np.uint64(0) else at)
                    going |= kind
                goes_on = going != np.uint64(0)
            for row in range(first, last):
                at = places[row - first]
                while plain == 0:
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
