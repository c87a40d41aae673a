"""Small products of two tensors in the kernel that interprets a network's table (`walking`).

The three loops are one product: if a stride is the constant 1, LLVM vectorises the loop. A
transposed right side has columns `z_step` apart, whose terms are contiguous.
"""

from __future__ import annotations

PAIRS = '''
@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def pairs_piece(q):
    """Small products of two tensors, matrix by matrix."""
    whole_vectors()
    inner, columns = q[LENGTH], q[COLUMNS]
    x_row, x_step, z_row, z_step = q[X_ROW], q[X_STEP], q[Z_ROW], q[Z_STEP]
    for n in range(q[IMAGES]):
        x = numbers(q[X] + 4 * n * q[X_IMAGE], q[ROWS_] * inner)
        z = numbers(q[Z] + 4 * n * q[Z_IMAGE], inner * columns)
        for r in range(q[ROWS_]):
            y = numbers(q[Y] + 4 * (n * q[ROWS_] + r) * columns, columns)
            if z_step == 1:
                y[:] = float32(0)
                for k in range(inner):
                    a = x[r * x_row + k * x_step]
                    for c in range(columns):
                        y[c] += a * z[k * z_row + c]
            elif x_step == 1:
                for c in range(columns):
                    total = float32(0)
                    for k in range(inner):
                        total = plus(total, x[r * x_row + k] * z[c * z_step + k])
                    y[c] = total
            else:
                for c in range(columns):
                    total = float32(0)
                    for k in range(inner):
                        total = plus(total, x[r * x_row + k * x_step] * z[c * z_step + k])
                    y[c] = total
'''
