"""The source of the kernel that shares pieces of work, each a function call, between threads.

The caller (`me` is 0) offers a job in a mailbox (`ops.kernels.mailbox`), if there is one, and takes
pieces until none is left; then it closes the mailbox and waits for threads that are still working.
A helper waits there for jobs until a timeout, or until it is told to leave; it returns the number
of jobs it took part in, or -1 if it only waited. `ops.kernels.pieces` describes jobs.
"""

from __future__ import annotations

from pinnace.ops.kernels.mailbox import GATE, INSIDE, JOB, LEAVE, LIMIT, WAITING
from pinnace.ops.kernels.pieces import (
    ANSWER,
    BODY,
    CHANGE,
    CHANGES,
    COUNT,
    DONE,
    FAILED,
    FLOATS,
    FUNCTION,
    HAS_STATUS,
    INNER,
    KINDS,
    LEFT,
    PIECES,
    ROOM,
    SPACE,
    SPACES,
    TABLE,
    TABLE_AT,
    THREADS,
    WAITED,
)

_PIECES = f"""
from numba import carray
from pinnace.engine.codegen.atomics import fetch_add, load, pause
from pinnace.engine.codegen.calls import call_16, call_32, call_64, call_128, call_256
from pinnace.engine.codegen.mathematics import as_integers

TABLE = types.Array(int64, 1, "C")


@njit(nogil=True, error_model="numpy")
def words(address, count):
    return carray(as_integers(address), count)


@njit(nogil=True, error_model="numpy")
def called(function, row, room, floats):
    if room == 16:
        return call_16(function, row, floats)
    if room == 32:
        return call_32(function, row, floats)
    if room == 64:
        return call_64(function, row, floats)
    if room == 128:
        return call_128(function, row, floats)
    return call_256(function, row, floats)


@njit(nogil=True, error_model="numpy")
def take_part(job, me):
    head = words(job, {BODY})
    pieces, inner, kinds = head[{PIECES}], head[{INNER}], head[{KINDS}]
    count, room, width, left = head[{COUNT}], head[{ROOM}], head[{TABLE}], head[{LEFT}]
    function, has_status = head[{FUNCTION}], head[{HAS_STATUS}] != 0
    changes = words(job + 8 * {BODY}, {CHANGE} * head[{CHANGES}])
    at = job + 8 * ({BODY} + {CHANGE} * head[{CHANGES}])
    call, tables = words(at, count), words(at + 8 * count, kinds * width)
    at = job + 8 * (head[{SPACES}] + me * head[{SPACE}])
    row, table = words(at, room), words(at + 8 * (room + {ANSWER}), width + 1)
    for k in range(room):
        row[k] = call[k] if k < count else 0
    if has_status:
        row[0], row[1] = at + 8 * room, at + 8 * (room + {ANSWER - 1})
    if width > 0:
        row[head[{TABLE_AT}]] = at + 8 * (room + {ANSWER})
    done = 0
    while True:
        piece = fetch_add(job, 1)
        if piece >= pieces:
            return done
        outside, inside = piece // inner, piece % inner
        kind = inside if kinds > 1 else 0
        for k in range(width):
            table[k] = tables[kind * width + k]
        for n in range(head[{CHANGES}]):
            c = changes[{CHANGE} * n : {CHANGE} * (n + 1)]
            if c[7] >= 0 and c[7] != kind:
                continue
            value = min(c[2] + inside * c[3] + outside * c[4] + me * c[5], c[6])
            if c[0] == 0:
                row[c[1]] = value
            else:
                table[c[1]] = value
        status = called(function, at, room, job + 8 * {FLOATS})
        if has_status and status != 0:
            fetch_add(job + 8 * {FAILED}, 1)
        if left >= 0:
            table[width] = max(table[width], table[left])
        done += 1


@njit([int64(TABLE, TABLE, int64)], cache=True, nogil=True, error_model="numpy")
def kernel(box, job, me):
    b = int64(box.ctypes.data)
    if me == 0:
        at = int64(job.ctypes.data)
        if box.size > 0:
            box[{JOB}] = at
            fetch_add(b + 8 * {GATE}, 1)
        job[{DONE}] = take_part(at, 0)
        if box.size > 0:
            fetch_add(b + 8 * {GATE}, 1)
            while load(b + 8 * {INSIDE}) > 0:
                job[{WAITED}] += 1
                pause()
        return 0
    fetch_add(b + 8 * {WAITING}, 1)
    looks, leave, last, helped = box[{LIMIT}], load(b + 8 * {LEAVE}), -1, 0
    while True:
        gate = load(b + 8 * {GATE})
        if gate % 2 == 0 or gate == last:
            looks -= 1
            if looks < 0 or load(b + 8 * {LEAVE}) != leave:
                break
            pause()
            continue
        last = gate
        fetch_add(b + 8 * {INSIDE}, 1)
        if fetch_add(b + 8 * {GATE}, 0) == gate and me < words(box[{JOB}], {BODY})[{THREADS}]:
            if take_part(box[{JOB}], me) > 0:
                helped += 1
            looks = box[{LIMIT}]
        fetch_add(b + 8 * {INSIDE}, -1)
    fetch_add(b + 8 * {WAITING}, -1)
    return helped if helped > 0 or looks >= 0 else -1
"""

TEXTS = {"pieces": _PIECES}
