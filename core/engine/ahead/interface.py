"""The C code around the kernels of a library: what takes Numba's place between them and Python.

Each kernel gets a function that takes NumPy's arrays as the objects they are. It looks into them as
NumPy's headers describe them, refuses those that the kernel was not compiled for, and hands the
kernel addresses, shapes and steps as Numba's calling convention wants them. Numba's own runtime is
replaced by what kernels need of it: memory that they fetch and give back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pinnace.engine.ahead.table import Entry

# What a function answers: nothing was wrong; the kernel failed; from here on, which argument is not
# what it was compiled for.
FINE, FAILED, ARGUMENT = 0, 1, 100
IDENTITY, ARRAY_TYPE, LOOK = "pinnace_identity", "pinnace_array_type", "pinnace_look"
# Words that `LOOK` writes of an array before its shape and steps.
LOOKED_AT = 4
# Functions of Numba's runtime that are here.
RUNTIME = (
    "NRT_MemInfo_alloc",
    "NRT_MemInfo_alloc_safe",
    "NRT_MemInfo_alloc_aligned",
    "NRT_MemInfo_alloc_safe_aligned",
    "NRT_MemInfo_call_dtor",
)

_C_TYPES = {
    "float32": "float",
    "float64": "double",
    "bool": "uint8_t",
    **{f"{sign}int{size}": f"{sign}int{size}_t" for sign in ("", "u") for size in (8, 16, 32, 64)},
}

_HEADER = """\
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct kind { intptr_t count; void *type; void *number_type; char letter, code, order, flags;
              int number; };
struct array { intptr_t count; void *type; char *data; int rank; intptr_t *shape, *steps;
               void *base; struct kind *kind; int flags; };

enum { IN_ONE_PIECE = 0x1, ALIGNED = 0x100, WRITEABLE = 0x400 };

const char pinnace_identity[] = "%s";
void *pinnace_array_type;

void pinnace_look(const struct array *a, int64_t *found)
{
    found[0] = a->rank;
    found[1] = (int64_t)(intptr_t)a->data;
    found[2] = a->kind->number;
    found[3] = a->flags & (IN_ONE_PIECE | ALIGNED | WRITEABLE);
    for (int i = 0; i < a->rank && i < 8; i++) {
        found[4 + i] = a->shape[i];
        found[12 + i] = a->steps[i];
    }
}

static int fits(const struct array *a, int rank, int number, int other, int flags)
{
    return a->type == pinnace_array_type && a->rank == rank
        && (a->kind->number == number || a->kind->number == other) && a->kind->order != '>'
        && (a->flags & flags) == flags;
}

struct memory { size_t count; void *end, *end_data, *data; size_t size; void *own; };

static void *fetched(size_t size, size_t step)
{
    struct memory *made;
    if (step < 32)
        step = 32;
    if (size > SIZE_MAX / 2 || !(made = malloc(size + sizeof *made + step)))
        return 0;
    made->count = 1;
    made->end = made->end_data = made->own = 0;
    made->data = (void *)(((uintptr_t)(made + 1) + step - 1) / step * step);
    made->size = size;
    return made;
}

#define INSIDE __attribute__((visibility("hidden")))
INSIDE void *NRT_MemInfo_alloc(size_t size) { return fetched(size, 0); }
INSIDE void *NRT_MemInfo_alloc_safe(size_t size) { return fetched(size, 0); }
INSIDE void *NRT_MemInfo_alloc_aligned(size_t size, uint32_t step) { return fetched(size, step); }
INSIDE void *NRT_MemInfo_alloc_safe_aligned(size_t size, uint32_t step)
{
    return fetched(size, step);
}
INSIDE void NRT_MemInfo_call_dtor(void *memory) { free(memory); }
"""


def is_known(kind: str) -> bool:
    """Whether an argument or result of this kind can be handed over."""
    return kind.split(":")[0] in _C_TYPES


def called(entry: Entry) -> str:
    """The symbol of the function that takes a kernel's arguments from Python."""
    return f"{entry.symbol}_call"


def source(kernels: list[Entry], identity: str) -> str:
    """The C code of a library.

    Args:
        kernels: that it holds.
        identity: what the library is to say that it is.
    """
    return _HEADER.replace("%s", identity, 1) + "".join(map(_function, kernels))


def _function(entry: Entry) -> str:
    taken: list[str] = []  # by the function
    given: list[str] = []  # to the kernel
    types: list[str] = []
    checks: list[str] = []
    for index, kind in enumerate(entry.arguments):
        name = f"a{index}"
        if ":" not in kind:
            taken.append(f"{_C_TYPES[kind]} {name}")
            types.append(_C_TYPES[kind])
            given.append(name)
            continue
        dtype, rank_text, layout, access = kind.split(":")
        rank = int(rank_text)
        taken.append(f"const struct array *{name}")
        first, second = numbers_of(dtype)
        flags = ["ALIGNED"]
        flags += ["IN_ONE_PIECE"] if layout == "C" else []
        flags += ["WRITEABLE"] if access == "w" else []
        checks.append(
            f"    if (!fits({name}, {rank}, {first}, {second}, {' | '.join(flags)}))\n"
            f"        return {ARGUMENT + index};\n"
        )
        size = " * ".join([f"{name}->shape[{axis}]" for axis in range(rank)] or ["1"])
        types += ["void *", "void *", "intptr_t", "intptr_t", "void *", *["intptr_t"] * 2 * rank]
        given += ["0", "0", size, str(np.dtype(dtype).itemsize), f"{name}->data"]
        given += [f"{name}->{part}[{axis}]" for part in ("shape", "steps") for axis in range(rank)]
    # Numba's functions write something even where they give nothing back.
    target = "result" if entry.results else "&nothing"
    taken += ["void *result"] if entry.results else []
    return (
        f"\nint {entry.symbol}(void *, void **, {', '.join(types)}) INSIDE;\n"
        f"int {called(entry)}({', '.join(taken)})\n{{\n"
        "    void *failure = 0, *nothing = 0;\n"
        f"{''.join(checks)}"
        "    (void)nothing;\n"
        f"    return {entry.symbol}({target}, &failure,\n        {', '.join(given)})"
        f" ? {FAILED} : {FINE};\n}}\n"
    )


def numbers_of(dtype: str) -> tuple[int, int]:
    """NumPy's numbers of a dtype: a C type of the same size is another one for it."""
    kind = np.dtype(dtype)
    twins = [np.dtype(code) for code in "lqLQ"]
    same = [one.num for one in twins if one == kind] or [kind.num]
    return same[0], same[-1]
