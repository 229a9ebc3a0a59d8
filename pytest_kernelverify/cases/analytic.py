"""Analytic witnesses: reductions and matmuls whose answer is a closed formula, stated here without a reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import factorial, prod

__all__ = ["AnalyticCase", "analytic_cases", "analytic_shapes"]

Shapes = tuple[tuple[int, ...], ...]
Entry = Callable[..., int]

# Windows are (first column, width); each is narrower than the one before, so that no two rows share an answer.
# 3 * (4**0 + ... + 4**10) is below 2**24: binary32 holds even every term taken three times.
_DIGITS = ((0, 11), (11, 10), (21, 9))
# The product of the first eight primes is below 2**24: any subset's product is exact.
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)
_FACTORS = ((0, 8), (8, 7), (15, 6), (21, 5))


@dataclass(frozen=True, slots=True)
class AnalyticCase:
    """One analytic witness: row-major input sequences and the result they must give.

    All values are integers that Int32 and binary32 hold exactly, as are all partial results in any order.
    """

    case_id: str
    operation: str
    inputs: tuple[tuple[float, ...], ...]
    expected: tuple[float, ...]


def _table(entry: Entry, *extents: int) -> tuple[float, ...]:
    """An operand in row-major order from its entry at each coordinate."""
    return tuple(float(entry(*place)) for place in product(*map(range, extents)))


_Witness = tuple[AnalyticCase, Shapes]


def _reduction(operation: str, name: str, entry: Entry, answer: Entry, rows: int, length: int) -> _Witness:
    case = AnalyticCase(
        f"{operation}-{name}-k{length}", operation, (_table(entry, rows, length),), _table(answer, rows)
    )
    return case, ((rows, length),)


def _sign(number: int) -> int:
    return -1 if number % 2 else 1


def _digit(row: int, column: int) -> int:
    """Base-4 digits of the sum name the term dropped (0) or repeated (2, 3); each pair of rows watches one window."""
    first, width = _DIGITS[row // 2]
    place = column - first
    return _sign(row) << 2 * place if 0 <= place < width else 0


def _repunit(row: int, length: int) -> int:
    first, width = _DIGITS[row // 2]
    return _sign(row) * (((1 << 2 * min(width, length - first)) - 1) // 3)


def _factor(row: int, column: int) -> int:
    """A missing prime no longer divides the product; a repeated one divides it twice."""
    first, width = _FACTORS[row // 2]
    place = column - first
    return (_sign(row) if place == 0 else 1) * _PRIMES[place] if 0 <= place < width else 1


def _primorial(row: int, length: int) -> int:
    first, width = _FACTORS[row // 2]
    return _sign(row) * prod(_PRIMES[: min(width, length - first)])


def _rows(windows: tuple[tuple[int, int], ...], length: int) -> int:
    return 2 * sum(first < length for first, _ in windows)


def _sums() -> Iterator[_Witness]:
    for length in range(1, 25):
        rows = _rows(_DIGITS, length)
        yield _reduction("reduce_sum", "geometric", _digit, lambda r, k=length: _repunit(r, k), rows, length)
        yield _reduction("reduce_sum", "count", lambda r, i: r + 1, lambda r, k=length: k * (r + 1), 3, length)
    for length in (1, 2, 3, 5, 8, 13, 21, 24):
        yield _reduction(
            "reduce_sum",
            "triangular",
            lambda r, i: i + 1 + 10 * r,
            lambda r, k=length: k * (k + 1) // 2 + 10 * r * k,
            4,
            length,
        )
        yield _reduction(
            "reduce_sum",
            "squares",
            lambda r, i: (i + 1) ** 2 + 3 * r,
            lambda r, k=length: k * (k + 1) * (2 * k + 1) // 6 + 3 * r * k,
            3,
            length,
        )
    for length in (2, 3, 4, 7, 9, 16, 24):
        yield _reduction(
            "reduce_sum",
            "balanced",
            lambda r, i: (-1) ** i * (i + 1) * (r + 1),
            lambda r, k=length: (r + 1) * ((k + 1) // 2 if k % 2 else -k // 2),
            3,
            length,
        )
    for length in (3, 6, 9, 24):
        # Three terms at a time, 2**19 and its negation around a small one: what a lost low bit would swallow.
        yield _reduction(
            "reduce_sum",
            "cancelling",
            lambda r, i: (2**19, i // 3 + 1 + 7 * r, -(2**19))[i % 3],
            lambda r, k=length: (k // 3) * (k // 3 + 1) // 2 + 7 * r * (k // 3),
            3,
            length,
        )


def _products() -> Iterator[_Witness]:
    for length in range(1, 25):
        rows = _rows(_FACTORS, length)
        yield _reduction("reduce_prod", "primes", _factor, lambda r, k=length: _primorial(r, k), rows, length)
    for length in range(2, 12):
        yield _reduction(
            "reduce_prod",
            "factorial",
            lambda r, i: (i + 2) if r == 0 or i else -2,
            lambda r, k=length: (-1) ** r * factorial(k + 1),
            2,
            length,
        )
    for length in (1, 2, 3, 5, 8, 16, 19):
        yield _reduction(
            "reduce_prod",
            "doubling",
            lambda r, i: -2 if i else -2 - 4 * r,
            lambda r, k=length: (-2) ** k * (1 + 2 * r),
            3,
            length,
        )


def _extremes() -> Iterator[_Witness]:
    """Rows whose winner stands at each place in turn; its sign is the losers', so that no neutral zero can win."""
    for sign, name in ((1, "max"), (-1, "min")):
        for length in range(1, 25):
            rows = max(length, 2)

            def peak(row: int, column: int, sign: int = sign, length: int = length) -> int:
                # Every value is on the far side of zero from the operation's direction: -200-... for max.
                return sign * (-100 - row if column == row % length else -200 - (row + column) % 7)

            yield _reduction(f"reduce_{name}", "peak", peak, lambda r, s=sign: s * (-100 - r), rows, length)
            if length > 1:
                yield _reduction(f"arg{name}", "peak", peak, lambda r, k=length: r % k, rows, length)
        for length in (2, 3, 8, 17, 24):
            ramp = lambda r, i, s=sign, k=length: s * (3 * i - 5 * r - 4 * k)  # noqa: E731
            yield _reduction(
                f"reduce_{name}", "ramp", ramp, lambda r, s=sign, k=length: s * (-k - 3 - 5 * r), 3, length
            )
        for length in (3, 5, 9, 24):
            # The extreme value stands at 1 + row % 2 and again at the end: the first of equals wins.
            yield _reduction(
                f"arg{name}",
                "tie",
                lambda r, i, s=sign, k=length: s * (9 if i in (1 + r % 2, k - 1) else -r - i),
                lambda r: 1 + r % 2,
                4,
                length,
            )


def _matmul(
    name: str, lhs: Entry, rhs: Entry, answer: Entry, m: int, k: int, n: int, batch: Sequence[int] = ()
) -> _Witness:
    shapes = ((*batch, m, k), (*batch, k, n))
    inputs = (_table(lhs, *shapes[0]), _table(rhs, *shapes[1]))
    extents = "x".join(map(str, (*batch, m, k, n)))
    return AnalyticCase(f"matmul-{name}-{extents}", "matmul", inputs, _table(answer, *batch, m, n)), shapes


def _matmuls() -> Iterator[_Witness]:
    for k in range(1, 25):
        rows = _rows(_DIGITS, k)
        answer: Entry = lambda i, j, k=k: (j + 1) * _repunit(i, k)  # noqa: E731
        yield _matmul("geometric", _digit, lambda p, j: j + 1, answer, rows, k, 3)
        yield _matmul(
            "dot",
            lambda i, p: p + 2,
            lambda p, j: p + 3,
            lambda i, j, k=k: (k + 1) * (k + 2) * (k + 3) // 3 - 2,
            1,
            k,
            1,
        )
    for m, k, n in ((1, 1, 5), (5, 1, 1), (2, 3, 5), (3, 7, 2), (4, 8, 3), (2, 16, 7), (7, 17, 2), (3, 24, 5)):
        yield _matmul(
            "count", lambda i, p: i + 2, lambda p, j: 10 * j + 3, lambda i, j, k=k: k * (i + 2) * (10 * j + 3), m, k, n
        )
        yield _matmul(
            "signed",
            lambda i, p: (-1) ** p * (i + 2),
            lambda p, j: (-1) ** (p + j) * (p + 1) * (2 * j + 3),
            lambda i, j, k=k: (-1) ** j * (i + 2) * (2 * j + 3) * k * (k + 1) // 2,
            m,
            k,
            n,
        )
    yield _matmul(
        "outer", lambda i, p: 3 * i - 7, lambda p, j: 2 * j + 5, lambda i, j: (3 * i - 7) * (2 * j + 5), 5, 1, 4
    )
    for m, k, n in ((5, 5, 3), (7, 7, 4), (3, 8, 5)):
        yield _matmul(
            "permutation_left",
            lambda i, p, k=k: int(p == (2 * i + 1) % k),
            lambda p, j, n=n: n * p + j + 1,
            lambda i, j, k=k, n=n: n * ((2 * i + 1) % k) + j + 1,
            m,
            k,
            n,
        )
        yield _matmul(
            "permutation_right",
            lambda i, p, k=k: k * i + p + 1,
            lambda p, j, k=k: int(p == (2 * j + 1) % k),
            lambda i, j, k=k: k * i + (2 * j + 1) % k + 1,
            n,
            k,
            m,
        )
    for m, k, n in ((3, 5, 2), (6, 4, 3), (9, 9, 2)):
        # Row i reads exactly its first i+1 terms: a sum that runs too far or stops short shows in that row.
        yield _matmul(
            "prefix",
            lambda i, p: int(p <= i),
            lambda p, j: (p + 1) * (j + 1),
            lambda i, j, k=k: (j + 1) * min(i + 1, k) * (min(i + 1, k) + 1) // 2,
            m,
            k,
            n,
        )
    for order in (2, 4, 8):
        # Rows of a Hadamard matrix are orthogonal; the last column adds a product that no element shares.
        yield _matmul(
            "orthogonal",
            lambda i, p, n=order: _hadamard(i, p) if p < n else 7 * i + 3,
            lambda p, j, n=order: _hadamard(p, j) if p < n else 10 * (j + 1),
            lambda i, j, n=order: (n if i == j else 0) + 10 * (7 * i + 3) * (j + 1),
            order,
            order + 1,
            order,
        )
    # (A (x) B)(C (x) D) = AC (x) BD, with A = [1 2; 3 -1; 2 5], C = [2 1; 1 2], B = [1 4], D = [1 2 -1; 1 1 3].
    outer, inner = ((4, 5), (5, 1), (9, 12)), (5, 6, 11)
    left, right = ((1, 2), (3, -1), (2, 5)), ((2, 1), (1, 2))
    few, many = (1, 4), ((1, 2, -1), (1, 1, 3))
    yield _matmul(
        "hierarchical",
        lambda i, p: left[i][p // 2] * few[p % 2],
        lambda p, j: right[p // 2][j // 3] * many[p % 2][j % 3],
        lambda i, j: outer[i][j // 3] * inner[j % 3],
        3,
        4,
        6,
    )
    for batch, m, k, n in (((2,), 2, 3, 2), ((3,), 1, 8, 2), ((2, 3), 2, 5, 3)):
        yield _matmul(
            "batched",
            lambda *at: (at[-2] + 1) * (10 * at[0] + len(at) + sum(at[1:-2])),
            lambda *at: (at[-2] + 1) * (at[-1] + 2),
            lambda *at, k=k: (at[-2] + 1) * (10 * at[0] + len(at) + sum(at[1:-2])) * (at[-1] + 2) * k * (k + 1) // 2,
            m,
            k,
            n,
            batch,
        )


def _hadamard(i: int, j: int) -> int:
    """Sylvester's matrix: the sign is the parity of the bits both indices share."""
    return -1 if (i & j).bit_count() % 2 else 1


@cache
def _witnesses() -> dict[str, _Witness]:
    found: dict[str, _Witness] = {}
    for source in (_sums, _products, _extremes, _matmuls):
        for case, shapes in source():
            if case.case_id in found:
                raise RuntimeError(f"analytic case {case.case_id} is named twice")
            found[case.case_id] = case, shapes
    return found


def analytic_cases() -> tuple[AnalyticCase, ...]:
    """Every analytic witness, independently named; the same tuple in every process."""
    return tuple(case for case, _ in _witnesses().values())


def analytic_shapes(case_id: str) -> Shapes:
    """Internal: the extents of each operand of an analytic case; an unknown id is a ValueError."""
    try:
        return _witnesses()[case_id][1]
    except KeyError:
        raise ValueError(f"analytic case {case_id!r} does not exist; analytic_cases() lists them") from None
