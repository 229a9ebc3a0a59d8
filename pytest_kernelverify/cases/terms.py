"""Terms of sums and products that every order and association adds exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_kernelverify.cases.critical import INFINITY, MAX, NANS, SIGN, words
from pytest_kernelverify.cases.shapes import Shape
from pytest_kernelverify.cases.values import (
    INT_MAX,
    INT_MIN,
    Integers,
    Words,
    below,
    cast_words,
    int_words,
    integers,
    real_words,
    scaled,
    sparse_positions,
    whole_words,
)
from pytest_kernelverify.operations.plan import PlanKey

__all__ = ["CANCELLING", "exact_terms", "occurrences", "scatter_index"]

DIGITS = 12  # base-4 digits that binary32 holds, each up to three times

# An Int32 that binary32 rounds, and a neighbour it holds: their sum shows the rounding, and is not zero.
_CONVERSIONS = (
    (2**24 + 1, 2 - 2**24),
    (2**24 + 3, -(2**24)),
    (-(2**24) - 1, 2**24 + 2),
    (2**25 + 2, 4 - 2**25),
    (INT_MAX, 128 - 2**31),
    (2**25 + 3, -(2**25)),
    (2**30 + 33, 64 - 2**30),
)
# Big, small, and almost minus big: no run of terms sums to zero, and wherever a row starts and in whatever order it is
# added, binary32 loses small ones.
CANCELLING = (2**25, 3, 2, 8 - 2**25, 1)


def exact_terms(plan: PlanKey, kind: str, shape: Shape, seed: int, turn: int) -> list[Words]:
    """The words of each operand for a value kind of the structural class."""
    if plan.operation == "reduce_prod":
        rows, size = shape.operands[0]
        return [_factors(kind, rows, size, seed)]
    dtypes = [operand.dtype for operand in plan.operands]
    if plan.operation == "scatter_add":
        return _scattered(kind, shape, seed)
    if plan.operation == "conv":
        return _convolved(kind, shape, seed, turn)
    if plan.operation == "matmul":
        return _multiplied(kind, shape, dtypes, seed, turn)
    rows, size = shape.operands[0]
    return [_summed(kind, rows, size, dtypes[0], seed, prefix=plan.operation == "cumsum").ravel()]


def scatter_index(seed: int, size: int, height: int) -> Integers:
    """Every row hit about equally, in mixed order; the first and the last update on the boundary rows."""
    index = (below(seed, size, height) + np.arange(size)) % height
    if size > 1:
        index[0], index[-1] = height - 1, 0
    return index


def _signs(count: int, turn: int) -> Integers:
    return 1 - 2 * ((np.arange(count) + turn % 2) % 2)


def _windows(rows: int, size: int) -> list[int]:
    """Where each row's run of DIGITS terms starts: the first, the last, then those between."""
    last = max(size - DIGITS, 0)
    starts = [0, last, *range(DIGITS, last, DIGITS)]
    if len(starts) > rows > 2:
        middle = starts[2:]
        starts = [0, last, *(middle[round(i * (len(middle) - 1) / max(rows - 3, 1))] for i in range(rows - 2))]
    return [starts[row % len(starts)] for row in range(rows)]


def _fingerprints(rows: int, size: int, *, filler: int = 0) -> Integers:
    """Rows of powers of four over a run of terms; ``filler`` elsewhere."""
    grid = np.full((rows, size), filler, dtype=np.int64)
    for row, start in enumerate(_windows(rows, size)):
        stop = min(start + DIGITS, size)
        grid[row, start:stop] = 4 ** np.arange(stop - start, dtype=np.int64)
    return grid


def _cancelling(place: Integers, row: Integers) -> Integers:
    """Cancelling terms by their place in a row; rows start at different ones."""
    found: Integers = np.array(CANCELLING, dtype=np.int64)[(place + 3 * row) % len(CANCELLING)]
    return found


def _summed(kind: str, rows: int, size: int, dtype: str, seed: int, *, prefix: bool = False) -> Words:
    """Rows whose sums (and, for ``prefix``, running sums) are exact and not zero."""
    first, middle, last, tail = sparse_positions(max(size, 1))
    grid = np.zeros((rows, size), dtype=np.int64)
    if not size:
        return cast_words(grid, dtype)
    if kind == "ones":
        return cast_words(grid + 1, dtype)
    if kind == "small":
        if dtype == "i32" and not prefix:
            return int_words(integers(seed, rows * size, -99, 99).reshape(rows, size))
        grid = integers(seed, rows * size, 1, 9).reshape(rows, size) * _signs(rows, seed)[:, None]
        return cast_words(grid, dtype)
    if kind == "fours":
        grid = _fingerprints(rows, size)
        if prefix:
            grid[np.array(_windows(rows, size)) > 0, 0] = 2
        return cast_words(grid * _signs(rows, seed)[:, None], dtype)
    if kind == "extremes" and dtype == "i32":
        for row in range(rows):
            grid[row, first], grid[row, middle], grid[row, last] = (
                (INT_MAX, 1, -1), (-1, INT_MIN, 1), (2**30, 2**30 - 1, 0), (-(2**30), 0, -(2**30))
            )[row % 4]  # fmt: skip
        return int_words(grid)
    if kind == "subnormal":
        # Small multiples of the smallest subnormal: the word of k * 2**-149 is k.
        small = integers(seed, rows * size, 1, 2**18).reshape(rows, size)
        return (small | (SIGN * (_signs(rows, seed) < 0))[:, None]).astype(np.uint32)
    if kind == "conversion":
        for row in range(rows):
            grid[row, first], grid[row, last] = _CONVERSIONS[row % len(_CONVERSIONS)]
        return int_words(grid)
    if kind == "cancellation":
        grid = _cancelling(np.arange(size)[None, :], np.arange(rows)[:, None])
        result = cast_words(grid * _signs(rows, seed)[:, None], dtype)
        if dtype == "f32" and rows > 3:
            result[3] = 0
            result[3, first], result[3, middle], result[3, last] = MAX, MAX, SIGN | MAX
        return result
    if kind == "extremes":
        result = np.zeros((rows, size), np.uint32)
        top = 0x7F000000
        for row in range(rows):
            result[row, first], result[row, middle], result[row, last] = (
                (MAX, 0, 0), (top, 0, top), (SIGN | top, SIGN | top, 0), (top, 0x7EFFFFFE, 0), (SIGN | MAX, 0, 0)
            )[row % 5]  # fmt: skip
        return result
    result = cast_words(integers(seed, rows * size, 1, 9).reshape(rows, size), "f32")
    for row in range(rows):
        places, special = (
            ((first,), (INFINITY,)),
            ((middle,), (NANS[0],)),
            ((last,), (SIGN | INFINITY,)),
            ((first, last), (INFINITY, SIGN | INFINITY)),
            ((tail,), (NANS[1],)),
            ((tail,), (INFINITY,)),
            ((), ()),
        )[row % 7]
        result[row, list(places)] = words(*special)
    return result


def _multiplied(kind: str, shape: Shape, dtypes: Sequence[str], seed: int, turn: int) -> list[Words]:
    """lhs[B...,M,K] and rhs[B...,K,N]; where one holds the pattern along K, the other holds ones or small factors."""
    lhs, rhs = shape.operands
    rows, size, columns = shape.counts[0] // max(lhs[-1], 1), lhs[-1], rhs[-1]
    if not size:
        return [cast_words([], dtype) for dtype in dtypes]
    batch = shape.counts[1] // (size * columns)

    def right(grid: Words) -> Words:
        """Rows of the pattern, one for each column of each batch, as rhs[B...,K,N]."""
        return grid.reshape(batch, columns, size).transpose(0, 2, 1).reshape(-1)

    def unit(count: int, dtype: str) -> Words:
        return cast_words(np.ones(count, dtype=np.int64), dtype)

    both = dtypes[0] == dtypes[1] == "i32"
    if kind in ("ones", "small"):
        grids = []
        for axis, (lines, limit) in enumerate(((rows, 5), (batch * columns, 3))):
            if kind == "ones":
                grid = np.ones((lines, size), dtype=np.int64)
            elif both:
                grid = integers(seed + axis, lines * size, -9, 9).reshape(lines, size)
            else:
                grid = integers(seed + axis, lines * size, 1, limit).reshape(lines, size)
                grid *= _signs(lines, turn + axis)[:, None]
            grids.append(cast_words(grid, dtypes[axis]))
        return [grids[0].ravel(), right(grids[1])]
    if kind == "extremes" and both:
        return _beyond_int32(shape, rows, size, columns, batch)
    if kind == "subnormal":
        grids = []
        for axis, lines in enumerate((rows, batch * columns)):
            grid = whole_words(integers(seed + axis, lines * size, 1, 3).reshape(lines, size))
            if dtypes[axis] == "i32":
                grids.append(int_words(grid.view(np.float32).astype(np.int64)))
            elif "i32" in dtypes:
                grids.append(grid.view(np.float32).astype(np.uint32))
            else:
                grids.append(scaled(grid, -75 if axis else -70))
        return [grids[0].ravel(), right(grids[1])]
    # A Float32 pattern needs a Float32 operand; conversions need the Int32 one.
    need = "i32" if kind == "conversion" else "f32"
    eligible = [axis for axis in (0, 1) if kind == "fours" or dtypes[axis] == need]
    axis = eligible[turn % len(eligible)]
    heights = (rows, batch * columns)
    pattern = _summed(kind, heights[axis], size, dtypes[axis], seed)
    other = np.ones((heights[1 - axis], size), dtype=np.int64)
    if kind in ("extremes", "cancellation"):
        other *= np.array([1, -1, 2])[np.arange(len(other)) % 3][:, None]
    if kind == "specials":
        # Factors of zero against the infinities: their products are NaN and reach the sum.
        other += (np.arange(size) + np.arange(len(other))[:, None]) % 3
        other[1::3, list(sparse_positions(size))] = 0
    words_ = [pattern, cast_words(other, dtypes[1 - axis])]
    left, right_ = words_ if axis == 0 else words_[::-1]
    return [left.ravel(), right(right_)]


def _beyond_int32(shape: Shape, rows: int, size: int, columns: int, batch: int) -> list[Words]:
    """Totals at both ends of Int32 whose partial sums, or products, lie beyond it."""
    first, middle, last, _ = sparse_positions(size)
    lhs = np.zeros((batch, rows // batch, size), dtype=np.int64)
    rhs = np.zeros((batch, size, columns), dtype=np.int64)
    for line in range(batch):
        for row in range(lhs.shape[1]):
            ends = ((INT_MAX, 1, -1), (-1, INT_MIN, 1), (2**30, 2**30 - 1, 0), (-(2**30), 0, -(2**30)))[row % 4]
            lhs[line, row, [first, middle, last]] = ends if line % 2 == 0 else (65536 + row, 65536 + row, 3)
        for column in range(columns):
            factors = ((1, 1, 1), (0, 1, 0), (1, 0, 0))[column % 3]
            rhs[line, [first, middle, last], column] = factors if line % 2 == 0 else (65536 - column, column - 65535, 1)
    return [int_words(lhs.ravel()), int_words(rhs.ravel())]


def _convolved(kind: str, shape: Shape, seed: int, turn: int) -> list[Words]:
    """Input of one sign in each batch, weights of one sign in each channel: no window sums to zero."""
    source, weight = shape.operands
    inputs, taps = shape.counts
    batch, channels, outputs = source[0], source[1], weight[0]
    size = shape.terms
    if not size:
        return [whole_words(np.ones(inputs)), whole_words(np.ones(taps))]
    ones = [np.ones(inputs, dtype=np.int64), np.ones(taps, dtype=np.int64)]
    if kind == "small":
        ones[0] = integers(seed, inputs, 1, 4) * np.repeat(_signs(batch, turn), inputs // batch)
        ones[1] = integers(seed + 1, taps, 1, 3) * np.repeat(_signs(outputs, turn), size)
    if kind == "fours":
        ones[1] = _fingerprints(outputs, size, filler=1).ravel()
    if kind == "cancellation":
        ones[1] = _cancelling(np.arange(taps) % size, np.arange(taps) // size)
    result = [whole_words(grid) for grid in ones]
    if kind == "subnormal":
        small = [whole_words(integers(seed + axis, count, 1, 3)) for axis, count in enumerate((inputs, taps))]
        return [scaled(small[0], -75), scaled(small[1], -70)]
    if kind in ("specials", "extremes"):
        grid = result[0].reshape(batch, channels, -1)
        places = grid.shape[2]
        if kind == "extremes":
            grid[...] = np.uint32((121 + 127) << 23)
            grid[0, : min(2, channels), places // 2] = 0x7F000000
            if batch > 1:
                grid[1:] |= np.uint32(SIGN)
        else:
            grid[0, 0, 0], grid[-1, -1, places - 1] = NANS[0], INFINITY
            grid[0, channels // 2, places // 2] = SIGN | INFINITY
            filters = result[1].reshape(outputs, size)
            # An infinite weight that padding keeps away from some windows, and a zero one that meets an infinity.
            filters[0, 0], filters[-1, -1] = INFINITY, 0
    return result


def _scattered(kind: str, shape: Shape, seed: int) -> list[Words]:
    """base[N,D], index[M], updates[M,D], all of one sign: no row sums to zero."""
    (height, width), (size,), _ = shape.operands
    index = scatter_index(seed, size, height)
    columns = np.full(width, 1 - 2 * (seed % 2))
    base = np.tile(columns, (height, 1))
    updates = np.tile(columns, (size, 1))
    nth = occurrences(index, height)
    if kind == "small":
        base = base * integers(seed + 1, height * width, 1, 50).reshape(height, width)
        updates = updates * integers(seed + 2, size * width, 1, 9).reshape(size, width)
    elif kind == "fours" and size:
        # The digit of an update is its turn among those of its row; a column shows one run of turns.
        starts = np.array(_windows(width, max(int(nth.max()) + 1, 1)))
        digit = nth[:, None] - starts[None, :] + 1
        updates = updates * np.where((digit >= 1) & (digit < DIGITS), 4 ** np.clip(digit, 0, DIGITS - 1), 0)
    elif kind == "cancellation":
        updates = updates * _cancelling(nth[:, None], np.arange(width)[None, :])
    words_: list[Words] = [whole_words(base), whole_words(updates)]
    if kind == "subnormal":
        # The word of k * 2**-149 is k.
        sign = np.where(columns < 0, np.uint32(SIGN), np.uint32(0))[None, :]
        grids = (np.abs(base), integers(seed + 2, size * width, 1, 2**18).reshape(size, width))
        words_ = [grid.astype(np.uint32) | sign for grid in grids]
    elif kind == "extremes":
        sign = np.where(columns < 0, np.uint32(SIGN), np.uint32(0))[None, :]
        even = np.uint32((120 + 127) << 23)
        words_ = [np.full((height, width), even, np.uint32) | sign, np.full((size, width), even, np.uint32) | sign]
        top = index == index[0]
        words_[1][np.flatnonzero(top)[:2]] = np.uint32(0x7F000000) | sign
    elif kind == "specials" and size:
        first, middle, last, tail = sparse_positions(size)
        words_[1][first, 0], words_[1][middle, -1] = NANS[0], INFINITY
        words_[1][last, 0], words_[1][tail, -1] = INFINITY, SIGN | INFINITY
        words_[0][1, 0] = NANS[1]
    return [words_[0].ravel(), int_words(index), words_[1].ravel()]


def occurrences(index: Integers, height: int) -> Integers:
    """For each update how many came before it on its row."""
    nth = np.zeros_like(index)
    for row in range(height):
        hit = index == row
        nth[hit] = np.arange(np.count_nonzero(hit))
    return nth


_PRIMES = (3, 5, 7, 11, 13, 17)


def _factors(kind: str, rows: int, size: int, seed: int) -> Words:
    """Rows whose products are exact in every order: few factors other than 1 and -1."""
    grid = np.where(below(seed, rows * size, 3) == 0, -1, 1).reshape(rows, size).astype(np.float64)
    if not size:
        return real_words(grid).ravel()
    first, middle, last, tail = sparse_positions(size)
    starts = _windows(rows, size)
    if kind == "ones":
        return real_words(np.ones((rows, size))).ravel()
    if kind == "small":
        for row in range(rows):
            grid[row, first] *= 5 + row
            grid[row, middle] *= 3
            grid[row, last] *= 11
            grid[row, tail] *= 0.5
    elif kind == "twos":
        # The exponent of the result counts the factors of a run of 60.
        for row, start in enumerate(starts):
            begin = max(min(start, size - 60), 0)
            grid[row, begin : begin + 60] *= 2
    elif kind == "primes":
        for row, start in enumerate(starts):
            stop = min(start + len(_PRIMES), size)
            grid[row, start:stop] *= _PRIMES[: stop - start]
    elif kind == "cancellation":
        # Beyond binary32 on the way, exact in binary64 in every order.
        for row in range(rows):
            grid[row, [first, middle, last]] *= (2.0**100 * (3 + row), 2.0**100, 2.0**-110)
    elif kind == "subnormal":
        for row in range(rows):
            grid[row, first] *= 2.0**-70 * (1, 3, 5)[row % 3]
            grid[row, last] *= 2.0**-75 * (3, 1, 7)[row % 3]
    elif kind == "extremes":
        result = real_words(np.abs(grid))
        for row in range(rows):
            result[row, first], result[row, last] = (
                (MAX, 0x3F800000), (0x71800000, 0x71800000), (SIGN | 0x7F000000, 0x40000000), (0x3F800000, 0x00800000)
            )[row % 4]  # fmt: skip
        return result.ravel()
    result = real_words(grid)
    if kind == "specials":
        for row in range(rows):
            places, special = (
                ((first,), (NANS[0],)),
                ((middle,), (INFINITY,)),
                ((last,), (SIGN | INFINITY,)),
                ((first,), (0,)),
                ((first, last), (0, INFINITY)),
                ((tail,), (SIGN,)),
                ((tail,), (NANS[2],)),
            )[row % 7]
            result[row, list(places)] = words(*special)
    return result.ravel()
