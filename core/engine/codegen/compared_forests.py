"""Decision forests of simple conditions, as machine code without branches on comparisons.

Both kernels first prepare columns, in which a missing number becomes one that leads to its child,
so that a condition on numbers is one comparison: `number >= threshold` (`ops.trees.comparisons`).

"forest words" evaluates all conditions of a tree at once, for a block of rows in vectors
(`leaf_words`). Its cost is that of all conditions of a tree: it is for trees with few leaves. A
part is a word of leaves of a tree; the result of a part replaces those of the parts before it. The
arrays are made by `ops.trees.leaf_words`:

- `sources`: the column and the form of each prepared column. A categorical one has the bit of the
  row's category among 32, or none; `cuts` has the number of categories.
- `operations`: the prepared column, the operand, and the leaves that remain where the condition
  holds.
- `parts`: for each part, its first operation that compares, and its first that tests common bits.
- `trees`: the first part of each tree.
- `values`: the values of the leaves, [parts, outputs, 32].

"forest steps" descends the trees (`ops.trees.steps`). Many lanes take one step before the next, so
that their memory accesses overlap; lanes are the rows of a block in one tree, or, for few rows, the
trees that one row passes through. A node is four contiguous words: its prepared column, its
threshold, and the negative and the positive child. A leaf is its own child; in place of a threshold
it has its value, or its index where leaves have several values. In a forest that also looks up
categories (`mixed`), the first word is twice the column, plus 1 for a node that does; such a node
has the index of its first bit in place of a threshold.
"""

from __future__ import annotations

_TYPES = """
FLOATS = types.Array(float32, 1, "C", readonly=True)
WORDS = types.Array(types.int32, 1, "C", readonly=True)
LONGS = types.Array(int64, 1, "C", readonly=True)
SUMS = types.Array(types.float64, 1, "C")
INFINITE = np.float32(np.inf)


@njit(inline="always")
def prepared(x, form):
    if form == 0:
        return x
    if form == 1:
        return INFINITE if x != x else x
    return np.float32(1) if x != x else np.float32(0)

"""

_WORDS = (
    "from pinnace.engine.codegen.leaf_words import LEAVES, ROWS, look_up, narrow\n"
    + _TYPES
    + """
@njit([void(int64, int64, int64, int64, int64, int64, FLOATS, WORDS, LONGS, WORDS, WORDS, WORDS,
            WORDS, FLOATS, SUMS)],
      cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, wide, categories_wide, outputs, stride, numbers, categories, cuts, sources,
           operations, parts, trees, values, sums):
    whole_vectors()
    width = max(outputs, stride)
    block = np.empty(ROWS * (sources.size >> 1), np.float32)
    bits = block.view(np.int32)
    found = np.empty(ROWS * outputs, np.float32)
    words = np.zeros(ROWS, np.int32)
    totals = np.zeros(ROWS * width, np.float64)
    block_at, found_at = int64(block.ctypes.data), int64(found.ctypes.data)
    words_at, values_at = int64(words.ctypes.data), int64(values.ctypes.data)
    operations_at = int64(operations.ctypes.data)
    for first in range(start, stop, ROWS):
        rows = min(ROWS, stop - first)
        for column in range(sources.size >> 1):
            source, form = int64(sources[2 * column]), sources[2 * column + 1]
            if form < 3:
                line = block[column * ROWS : (column + 1) * ROWS]
                for row in range(rows):
                    line[row] = prepared(numbers[(first + row) * wide + source], form)
                continue
            cut = cuts[source]
            for row in range(rows):
                category = int64(categories[(first + row) * categories_wide + source])
                if category == -1:
                    category = cut
                elif category < 0 or category >= cut:
                    category = 0
                is_here = category >> 5 == form - 3
                bits[column * ROWS + row] = np.int32(is_here << (category & 31))
        for row in range(rows):
            for k in range(width):
                totals[k * ROWS + row] = sums[(first + row) * width + k]
        for tree in range(trees.size - 1):
            begin = int64(trees[tree])
            for part in range(begin, trees[tree + 1]):
                at, tests = int64(parts[2 * part]), int64(parts[2 * part + 1])
                end = int64(parts[2 * part + 2])
                narrow(block_at, operations_at + 12 * at, tests - at, end - tests, words_at)
                for k in range(outputs):
                    look_up(words_at, values_at + 4 * LEAVES * (part * outputs + k),
                            int64(part == begin), found_at + 4 * ROWS * k)
            for k in range(outputs):
                given = found[k * ROWS : (k + 1) * ROWS]
                total = totals[(tree % stride + k) * ROWS : (tree % stride + k + 1) * ROWS]
                for row in range(ROWS):
                    total[row] += given[row]
        for row in range(rows):
            for k in range(width):
                sums[(first + row) * width + k] = totals[k * ROWS + row]
"""
)

_STEPS = (
    _TYPES
    + """
BYTES = types.Array(types.uint8, 1, "C", readonly=True)
LANES = 64


@njit
def descend(places, lines, lanes, steps, nodes, thresholds, columns):
    for _ in range(steps):
        for lane in range(lanes):
            at = np.uint64(places[lane]) << np.uint64(2)
            x = columns[np.uint64(lines[lane]) + np.uint64(nodes[at])]
            up = np.uint64(x >= thresholds[at + np.uint64(1)])
            places[lane] = int64(nodes[at + np.uint64(2) + up])


@njit
def descend_mixed(places, lines, lanes, steps, nodes, thresholds, bits, columns, whole):
    for _ in range(steps):
        for lane in range(lanes):
            at = np.uint64(places[lane]) << np.uint64(2)
            head = np.uint64(nodes[at])
            place = np.uint64(lines[lane]) + (head >> np.uint64(1))
            looks_up = head & np.uint64(1)
            # Of a comparison it is the first bit, which is not looked at.
            bit = (np.uint64(nodes[at + np.uint64(1)]) + np.uint64(whole[place])) * looks_up
            has = np.uint64(bits[bit >> np.uint64(3)]) >> (bit & np.uint64(7)) & looks_up
            is_high = np.uint64(columns[place] >= thresholds[at + np.uint64(1)])
            up = has | is_high & (looks_up ^ np.uint64(1))
            places[lane] = int64(nodes[at + np.uint64(2) + up])


@njit
def prepare(row, wide, categories_wide, numbers, categories, cuts, sources, line, whole):
    for column in range(line.size):
        source, form = int64(sources[2 * column]), sources[2 * column + 1]
        if form < 3:
            line[column] = prepared(numbers[row * wide + source], form)
            continue
        category = int64(categories[row * categories_wide + source])
        if category == -1:
            category = cuts[source]
        elif category < 0 or category >= cuts[source]:
            category = 0
        whole[column] = np.int32(category)


@njit([void(int64, int64, int64, int64, int64, int64, int64, int64, FLOATS, WORDS, LONGS, WORDS,
            WORDS, FLOATS, BYTES, WORDS, WORDS, FLOATS, SUMS)],
      cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, few, mixed, wide, categories_wide, outputs, stride, numbers, categories,
           cuts, sources, nodes, thresholds, bits, roots, depths, values, sums):
    width, columns_wide = max(outputs, stride), sources.size >> 1
    places = np.empty(LANES, np.int64)
    lines = np.empty(LANES, np.int64)
    columns = np.empty(LANES * columns_wide, np.float32)
    whole = columns.view(np.int32)
    for lane in range(LANES):
        lines[lane] = 0 if few == 1 else lane * columns_wide
    # Few rows are taken one by one, with their trees as lanes.
    rows_at_once = 1 if few == 1 else LANES
    trees_at_once = LANES if few == 1 else 1
    for first_row in range(start, stop, rows_at_once):
        rows = min(rows_at_once, stop - first_row)
        for row in range(rows):
            begin, end = row * columns_wide, (row + 1) * columns_wide
            prepare(first_row + row, wide, categories_wide, numbers, categories, cuts, sources,
                    columns[begin:end], whole[begin:end])
        for first_tree in range(0, roots.size, trees_at_once):
            trees = min(trees_at_once, roots.size - first_tree)
            lanes, steps = max(rows, trees), int64(0)
            if few == 1:
                for lane in range(lanes):
                    places[lane] = roots[first_tree + lane]
                    steps = max(steps, int64(depths[first_tree + lane]))
            else:
                steps = int64(depths[first_tree])
                for lane in range(lanes):
                    places[lane] = roots[first_tree]
            if mixed == 1:
                descend_mixed(places, lines, lanes, steps, nodes, thresholds, bits, columns, whole)
            else:
                descend(places, lines, lanes, steps, nodes, thresholds, columns)
            if few == 1 and width == 1:
                total = sums[first_row]
                for lane in range(lanes):
                    total += thresholds[np.uint64(places[lane]) << np.uint64(2) | np.uint64(1)]
                sums[first_row] = total
                continue
            for lane in range(lanes):
                row = first_row if few == 1 else first_row + lane
                at = np.uint64(places[lane]) << np.uint64(2) | np.uint64(1)
                if outputs == 1:
                    tree = first_tree + lane if few == 1 else first_tree
                    sums[row * stride + tree % stride] += thresholds[at]
                    continue
                leaf = int64(nodes[at]) * outputs
                for k in range(outputs):
                    sums[row * outputs + k] += values[leaf + k]
"""
)

TEXTS = {"forest words": _WORDS, "forest steps": _STEPS}
