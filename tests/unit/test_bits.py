"""Binary32 words: every class of word, against exact fractions."""

from __future__ import annotations

import array
import ctypes
import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from float_state import STATES, float_state
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelverify.numerics import bits
from pytest_kernelverify.numerics.bits import float32_bits, float32_ulp_distance, float32_value, float32_words

LARGEST = 0x7F7FFFFF
HALFWAY_TO_INFINITY = (2**25 - 1) * 2**103  # the least magnitude that rounds beyond binary32
BOUNDARIES = (0, 1, 2, 3, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x3F7FFFFF, 0x3F800000)
BOUNDARIES += (0x4B7FFFFF, 0x4B800000, 0x4B800001, 0x7EFFFFFF, 0x7F7FFFFE, LARGEST)

words = st.one_of(
    st.integers(0, 2**32 - 1),
    st.sampled_from([sign | word for word in BOUNDARIES for sign in (0, 1 << 31)]),
    st.integers(0x7F800000, 0x7FFFFFFF),  # infinity and NaNs
    st.integers(0, 0x7FFFFF),  # subnormals
    st.integers(0xFF800000, 0xFFFFFFFF),
)


def value(word: int) -> Fraction:
    """The exact value of a finite word, from the definition of the format."""
    sign, field, fraction = word >> 31, (word >> 23) & 0xFF, word & 0x7FFFFF
    assert field < 255
    magnitude = Fraction(fraction + (2**23 if field else 0)) * Fraction(2) ** (max(field, 1) - 150)
    return -magnitude if sign else magnitude


def nearest(exact: Fraction) -> int:
    """Nearest-even by search over the ordered words: slow, and independent of how the package rounds."""
    sign, magnitude = (1 << 31 if exact < 0 else 0), abs(exact)
    if magnitude >= HALFWAY_TO_INFINITY:
        return sign | 0x7F800000
    low, high = 0, LARGEST + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) <= magnitude else (low, middle)
    if low == LARGEST:
        return sign | low
    below, above = magnitude - value(low), value(low + 1) - magnitude
    return sign | (low if below < above or (below == above and low % 2 == 0) else low + 1)


@given(words)
def test_every_word_survives_decoding_and_encoding(word: int) -> None:
    assert float32_bits(float32_value(word)) == word
    assert float32_words([float32_value(word)]).tolist() == [word]
    assert float32_words((float32_value(word), 1)).tolist()[0] == word


@given(st.lists(words, max_size=40))
def test_arrays_decode_and_encode_as_scalars_do(many: list[int]) -> None:
    array = np.array(many, dtype=np.uint32)
    values = bits.float32_values(array)
    assert [struct.pack("<d", v) for v in values.tolist()] == [struct.pack("<d", float32_value(w)) for w in many]
    assert float32_words(values).tolist() == many
    assert float32_words(array.view(np.float32)).tolist() == many
    assert float32_words(values.tolist()).tolist() == many
    assert float32_words(array.view(np.float32).astype(">f4").reshape(-1, 1)).tolist() == many


@pytest.mark.parametrize("word", [0x7F800001, 0xFF800001, 0x7FBFFFFF, 0x7FC00000, 0xFFC12345, 0x7FFFFFFF])
def test_a_float32_nan_keeps_its_word(word: int) -> None:
    scalar = np.array([word], dtype=np.uint32).view(np.float32)[0]
    assert float32_bits(scalar) == word
    assert math.isnan(float32_value(word))


@pytest.mark.parametrize(
    ("double", "word"),
    [
        (0x7FF8000000000000, 0x7FC00000),
        (0xFFF8000000000000, 0xFFC00000),
        (0x7FF923456789ABCD, 0x7FC91A2B),
        (0x7FF0000020000000, 0x7F800001),  # the lowest payload bit that is kept
        (0x7FF0000000000001, 0x7F800001),  # a signalling payload wholly below it stays a signalling NaN
        (0xFFF000001FFFFFFF, 0xFF800001),
        (0x7FF4000000000000, 0x7FA00000),
        (0x7FFFFFFFFFFFFFFF, 0x7FFFFFFF),
    ],
)
def test_a_double_nan_keeps_the_top_of_its_payload_and_its_kind(double: int, word: int) -> None:
    (number,) = struct.unpack("<d", struct.pack("<Q", double))
    assert float32_bits(number) == word
    assert float32_bits(np.float64(number)) == word
    assert float32_words(np.array([double], dtype=np.uint64).view(np.float64)).tolist() == [word]


@given(st.fractions())
def test_a_fraction_is_rounded_to_the_nearest_even_word(exact: Fraction) -> None:
    word = nearest(exact)
    assert bits.round_fraction(exact) == (0 if exact == 0 else word)
    assert bits.round_ratio(-exact.numerator, -exact.denominator) == bits.round_fraction(exact)


@given(st.integers(-(2**70), 2**70), st.integers(-260, 140))
def test_a_scaled_integer_is_rounded_to_the_nearest_even_word(mantissa: int, exponent: int) -> None:
    exact = mantissa * Fraction(2) ** exponent
    assert bits.round_scaled(mantissa, exponent) == nearest(exact)
    assert bits.round_fraction((mantissa, exponent)) == nearest(exact)


def test_halfway_points_and_their_neighbours_round_as_exact_fractions_do() -> None:
    for low in (*BOUNDARIES[:-1], 0x7FFFFD, 0x12345678, 0x3F800001, 0x33333333):
        middle = (value(low) + value(low + 1)) / 2
        step = Fraction(1, 2**400)
        for exact, word in (
            (middle, low if low % 2 == 0 else low + 1),
            (middle - step, low),
            (middle + step, low + 1),
            (value(low), low),
            (value(low) + step, low),
            (value(low + 1) - step, low + 1),
        ):
            assert bits.round_fraction(exact) == word
            assert bits.round_fraction(-exact) == (word | 1 << 31 if exact else 0)
            assert bits.round_ratio(exact.numerator * 3, exact.denominator * 3) == word
            mantissa = exact * 2**600
            assert mantissa.denominator == 1
            assert bits.round_scaled(int(mantissa), -600) == word


def test_rounding_overflows_to_infinity_and_underflows_to_a_signed_zero() -> None:
    assert bits.round_scaled(HALFWAY_TO_INFINITY, 0) == 0x7F800000
    assert bits.round_scaled(-HALFWAY_TO_INFINITY, 0) == 0xFF800000
    assert bits.round_scaled(HALFWAY_TO_INFINITY - 1, 0) == LARGEST
    assert bits.round_scaled(1, 10**9) == 0x7F800000
    assert bits.round_scaled(-1, -(10**9)) == 0x80000000
    assert bits.round_scaled(1, -150) == 0
    assert bits.round_scaled(2**40 + 1, -190) == 1
    assert bits.round_ratio(0, 7) == 0
    with pytest.raises(ZeroDivisionError):
        bits.round_ratio(1, 0)


@given(st.integers(-(2**130), 2**130))
def test_an_integer_is_rounded_once_and_directly(number: int) -> None:
    word = nearest(Fraction(number))
    if word & 0x7FFFFFFF == 0x7F800000:
        with pytest.raises(ValueError, match="beyond"):
            float32_bits(number)
    else:
        assert float32_bits(number) == word


def test_an_integer_never_passes_through_binary64() -> None:
    number = 2**60 + 2**36 + 1  # binary64 drops the 1 and leaves a tie, which would round down
    assert float32_bits(number) == float32_bits(2.0**60) + 1
    assert float32_bits(float(number)) == float32_bits(2.0**60)
    assert float32_bits(np.int64(number)) == float32_bits(number)
    assert float32_words([number, 0.0]).tolist()[0] == float32_bits(number)
    assert float32_words(np.array([number, -number, 3])).tolist() == [float32_bits(n) for n in (number, -number, 3)]


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_float_is_rounded_once(number: float) -> None:
    if math.isnan(number):
        assert float32_bits(number) & 0x7FFFFFFF > 0x7F800000
        return
    if math.isinf(number):
        assert float32_bits(number) == (0x7F800000 if number > 0 else 0xFF800000)
        return
    word = nearest(Fraction(number)) if number else (0 if math.copysign(1, number) > 0 else 1 << 31)
    if word & 0x7FFFFFFF == 0x7F800000:
        for encode in (float32_bits, lambda x: float32_words([x]), lambda x: float32_words(np.array([x]))):
            with pytest.raises(ValueError, match="beyond"):
                encode(number)
        return
    assert float32_bits(number) == word
    assert float32_words(np.array([number])).tolist() == [word]


def test_doubles_around_every_rounding_boundary_encode_in_arrays_as_fractions_do() -> None:
    numbers = []
    for low in BOUNDARIES[:-1]:
        middle = float((value(low) + value(low + 1)) / 2)  # 25 bits, and 2**-150 at least: exact
        numbers += [middle, math.nextafter(middle, 0), math.nextafter(middle, math.inf), float(value(low))]
    numbers += [2.0**-151, 2.0**-1074, 2.0**-1022, math.nextafter(float(HALFWAY_TO_INFINITY), 0)]
    numbers += [-number for number in numbers]
    expected = [nearest(Fraction(n)) | (1 << 31 if math.copysign(1, n) < 0 else 0) for n in numbers]
    assert float32_words(np.array(numbers)).tolist() == expected
    assert [float32_bits(n) for n in numbers] == expected


@pytest.mark.parametrize("huge", [2**128, -(2**128), HALFWAY_TO_INFINITY, 1e39, -1e300, 10**400, Fraction(2**200, 3)])
def test_a_finite_value_beyond_binary32_is_refused(huge: object) -> None:
    with pytest.raises(ValueError, match="beyond the largest finite binary32"):
        float32_bits(huge)


def test_the_largest_value_that_still_rounds_into_binary32_is_encoded() -> None:
    assert float32_bits(HALFWAY_TO_INFINITY - 1) == LARGEST
    assert float32_bits(math.nextafter(float(HALFWAY_TO_INFINITY), 0)) == LARGEST


@pytest.mark.parametrize("wrong", [True, False, np.True_, "1", b"1", None, 1j, [1.0], np.complex64(1), np.zeros(1)])
def test_booleans_and_other_types_are_a_type_error(wrong: object) -> None:
    with pytest.raises(TypeError):
        float32_bits(wrong)
    with pytest.raises(TypeError):
        float32_words([1.0, wrong])


@pytest.mark.parametrize("array", [np.array([True]), np.array(["a"]), np.zeros((2, 2), dtype=complex)])
def test_arrays_of_booleans_and_other_types_are_a_type_error(array: np.ndarray) -> None:  # type: ignore[type-arg]
    with pytest.raises(TypeError):
        float32_words(array)


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (np.float16(1.5), 0x3FC00000),
        (np.array([0x7D01], dtype=np.uint16).view(np.float16)[0], 0x7FA02000),
        (np.array([0xFC00], dtype=np.uint16).view(np.float16)[0], 0xFF800000),
        (np.float64(-0.0), 0x80000000),
        (np.int8(-3), 0xC0400000),
        (np.uint64(2**64 - 1), 0x5F800000),
        (np.longdouble(1) / 3, 0x3EAAAAAB),
        (np.longdouble("nan"), 0x7FC00000),
        (-np.longdouble(0), 0x80000000),
        (Fraction(1, 3), 0x3EAAAAAB),
        (-0.0, 0x80000000),
        (0, 0),
    ],
)
def test_numpy_scalars_and_fractions_are_accepted(number: object, word: int) -> None:
    assert float32_bits(number) == word


def test_integer_and_half_arrays_encode_as_their_elements_do() -> None:
    for kind in (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float16):
        limits = np.iinfo(kind) if kind is not np.float16 else np.finfo(kind)
        array = np.array([0, 1, 100, limits.max, limits.min], dtype=kind)
        assert float32_words(array).tolist() == [float32_bits(number) for number in array]
    near = np.arange(2**25 - 4, 2**25 + 5)
    assert float32_words(near).tolist() == [nearest(Fraction(n)) for n in near.tolist()]
    assert float32_words(x for x in [1, 2.5]).tolist() == [0x3F800000, 0x40200000]


@given(words, words)
def test_the_ulp_distance_counts_the_values_between(left: int, right: int) -> None:
    def place(word: int) -> int:
        return -(word & 0x7FFFFFFF) if word >> 31 else word

    distance = float32_ulp_distance(float32_value(left), float32_value(right))
    assert distance == float32_ulp_distance(float32_value(right), float32_value(left))
    if left == right:
        assert distance == 0
    elif max(left & 0x7FFFFFFF, right & 0x7FFFFFFF) > 0x7F800000:
        assert distance == bits.MAXIMUM_ULP_DISTANCE
    else:
        assert distance == abs(place(left) - place(right)) < bits.MAXIMUM_ULP_DISTANCE


def test_identical_nan_encodings_have_distance_zero_and_distinct_ones_the_maximum() -> None:
    quiet, other, signalling = map(float32_value, (0x7FC00000, 0xFFC00000, 0x7F800001))
    assert float32_ulp_distance(quiet, quiet) == 0
    assert float32_ulp_distance(signalling, signalling) == 0
    for pair in ((quiet, other), (quiet, signalling), (quiet, 1.0), (math.inf, quiet)):
        assert float32_ulp_distance(*pair) == bits.MAXIMUM_ULP_DISTANCE == 2**32 - 1


def test_the_two_zero_signs_have_distance_zero() -> None:
    assert float32_ulp_distance(0.0, -0.0) == 0
    assert float32_ulp_distance(float32_value(1), float32_value(0x80000001)) == 2
    assert float32_ulp_distance(-math.inf, math.inf) == 2 * 0x7F800000


@given(st.lists(words, max_size=30))
def test_the_order_of_words_is_the_order_of_values(many: list[int]) -> None:
    numbers = [word for word in many if word & 0x7FFFFFFF <= 0x7F800000]
    order = bits.ordered(np.array(numbers, dtype=np.uint32)).tolist()
    for first, second in zip(range(len(numbers)), range(1, len(numbers)), strict=False):
        left, right = float32_value(numbers[first]), float32_value(numbers[second])
        assert (order[first] < order[second]) == (left < right)
        assert (order[first] == order[second]) == (left == right)


@given(words)
def test_a_finite_word_has_an_exact_scaled_value_and_others_have_none(word: int) -> None:
    if word & 0x7FFFFFFF >= 0x7F800000:
        with pytest.raises(ValueError, match="not finite"):
            bits.scaled(word)
    else:
        mantissa, exponent = bits.scaled(word)
        assert mantissa * Fraction(2) ** exponent == value(word)


class Lie(float):
    """Its own value is 1; what it says of itself is not."""

    def __float__(self) -> float:
        return 2.0

    def as_integer_ratio(self) -> tuple[int, int]:
        return 2, 1


class IntegerLie(int):
    @property
    def numerator(self) -> int:
        return 2

    def __int__(self) -> int:
        return 2

    __index__ = __int__


@pytest.mark.parametrize("lie", [Lie(1.0), IntegerLie(1)])
def test_a_subclass_is_encoded_by_its_value_and_not_by_its_own_conversion(lie: float) -> None:
    assert float32_bits(lie) == 0x3F800000
    assert float32_words([lie]).tolist() == [0x3F800000]


@pytest.mark.parametrize("huge", [10**5000, -(10**5000), Fraction(10**5000, 3)], ids=["whole", "negative", "fraction"])
def test_a_number_of_too_many_digits_is_described_and_not_printed(huge: object) -> None:
    with pytest.raises(ValueError, match=r"of 166\d\d bits> rounds beyond the largest finite binary32") as error:
        float32_bits(huge)
    assert len(str(error.value)) < 150
    with pytest.raises(ValueError, match="rounds beyond the largest finite binary32"):
        float32_words([huge])
    with pytest.raises(TypeError, match="is a list"):
        float32_bits([huge])


SIGNALLING = 0x7F800001
FORMATS = {"f": np.float32, "d": np.float64, "e": np.float16}


def buffers(words: np.ndarray) -> list[object]:  # type: ignore[type-arg]
    """Everything but an array that holds binary32 numbers as they are in memory."""
    raw = words.tobytes()
    many = array.array("f")
    many.frombytes(raw)
    foreign = (ctypes.c_float * words.size).from_buffer_copy(raw)
    return [many, memoryview(many), memoryview(raw).cast("f"), foreign, memoryview(words.view(">f4").byteswap())]


def test_a_buffer_of_binary32_numbers_keeps_its_words() -> None:
    words = np.array([SIGNALLING, 0xFFA5A5A5, 1, 0x80000000, 0x3F800000], dtype=np.uint32)
    for buffer in buffers(words):
        assert float32_words(buffer).tolist() == words.tolist()  # type: ignore[arg-type]
    grid = memoryview(words[:4].view(np.float32).reshape(2, 2).T)
    assert float32_words(grid).tolist() == words[[0, 2, 1, 3]].tolist()


@pytest.mark.parametrize("code", ["d", "e"])
def test_a_buffer_of_other_floats_is_encoded_as_its_array_is(code: str) -> None:
    word = {"d": np.uint64(0x7FF0000020000000), "e": np.uint16(0x7C01)}[code]
    numbers = np.array([word]).view(FORMATS[code])
    assert float32_words(memoryview(numbers)).tolist() == float32_words(numbers).tolist()
    assert float32_words(memoryview(numbers)).tolist()[0] & 0x7FC00000 == 0x7F800000


def test_buffers_of_integers_are_read_one_by_one_and_of_booleans_not_at_all() -> None:
    assert float32_words(array.array("q", [2**24 + 1, -3])).tolist() == [0x4B800000, 0xC0400000]
    assert float32_words(b"\1\2").tolist() == [0x3F800000, 0x40000000]
    with pytest.raises(TypeError):
        float32_words(memoryview(np.array([True])))
    with pytest.raises(TypeError):
        float32_words(np.float32(1))  # type: ignore[arg-type]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**26), 2**26) | st.integers(-3, 3), max_size=30))
def test_lists_and_arrays_of_integers_are_rounded_to_the_nearest_even_word(many: list[int]) -> None:
    expected = [nearest(Fraction(number)) if number else 0 for number in many]
    assert float32_words(many).tolist() == expected
    assert float32_words(many * 33).tolist() == expected * 33  # as many as go through an array
    assert float32_words(np.array(many, dtype=np.int64)).tolist() == expected
    unsigned = [number + 2**63 for number in many]
    expected = [nearest(Fraction(number)) if number else 0 for number in unsigned]
    assert float32_words(np.array(unsigned, dtype=np.uint64)).tolist() == expected


def test_integer_arrays_longer_than_a_block_keep_their_order() -> None:
    many = np.arange(-70_000, 70_000)
    assert float32_words(many).tolist() == many.astype(np.float32).view(np.uint32).tolist()


INTEGERS = [2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**60 + 2**36 + 1, -(2**63), 0, 1, -1]
NUMBERS = [1e-45, 0.1, -0.1, 1e-40, -5e-324, 0.0, -0.0, 3.4e38, math.inf, -math.inf, 1 + 2.0**-24, 2.0**-150]
WORDS = [0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x400000, 0x800000, 0x3F800001, 0x7F7FFFFF, 0x7F800000, SIGNALLING]


def encodings() -> list[list[int]]:
    """Every way of encoding and decoding the numbers above."""
    words = np.array(WORDS, dtype=np.uint32)
    half = np.array([1, 0x8001, 0x3FF, 0x400, 0x3C01, 0x7C01, 0], dtype=np.uint16).view(np.float16)
    return [
        [float32_bits(number) for number in INTEGERS + NUMBERS],
        float32_words(INTEGERS * 5).tolist(),
        float32_words(np.array(INTEGERS)).tolist(),
        float32_words(np.array([1, 3, 2**24 + 1], dtype=np.uint32)).tolist(),
        float32_words(NUMBERS).tolist(),
        float32_words(np.array(NUMBERS)).tolist(),
        float32_words([*NUMBERS, 1]).tolist(),
        float32_words(half).tolist(),
        [float32_bits(np.float64(number)) for number in NUMBERS],
        [float32_bits(Fraction(1, 3)), float32_bits(Fraction(-1, 3 * 2**140)), float32_bits(np.longdouble(1) / 3)],
        bits.float32_values(words).view(np.uint64).tolist(),
        [struct.unpack("<Q", struct.pack("<d", float32_value(word)))[0] for word in WORDS],
        float32_words(bits.float32_values(words)).tolist(),
        bits.ordered(words[:-1]).tolist(),
        [float32_ulp_distance(left, right) for left in NUMBERS for right in NUMBERS],
    ]


DECLARED = encodings()


@pytest.mark.parametrize("state", STATES)
def test_no_rounding_mode_and_no_flush_bit_changes_an_encoding(state: tuple[int, int, int]) -> None:
    third = np.longdouble(1) / 3
    with float_state(*state):
        changed = encodings()[:9] + encodings()[10:]
        divided = float32_bits(third)
    assert changed == DECLARED[:9] + DECLARED[10:]
    assert divided == DECLARED[9][2]


dyadic = st.builds(lambda m, e: m * Fraction(2) ** e, st.integers(-(2**70), 2**70), st.integers(-1150, 950))


@given(st.fractions() | dyadic)
def test_a_ratio_becomes_the_nearest_double(exact: Fraction) -> None:
    assert bits.ratio_double(exact.numerator, exact.denominator) == exact.numerator / exact.denominator


def test_a_ratio_beyond_the_largest_double_is_an_infinity() -> None:
    assert bits.ratio_double(2**1024, 1) == math.inf
    assert bits.ratio_double(2**1024 - 2**970, 1) == math.inf
    assert bits.ratio_double(2**1024 - 2**970 - 1, 1) == 2.0**1023 * (2 - 2.0**-52)
    assert bits.ratio_double(-(10**400), 1) == -math.inf


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_has_an_exact_scaled_value(number: float) -> None:
    mantissa, exponent = bits.double_scaled(number)
    assert mantissa * Fraction(2) ** exponent == Fraction(number)
