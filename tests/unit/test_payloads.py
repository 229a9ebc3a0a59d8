"""Payloads: immutable, content-hashed, one source for target and oracle."""

from __future__ import annotations

import array
import copy
import dataclasses
import hashlib
import math
import pickle
import struct

import numpy as np
import pytest
from float_state import FLUSHING, STATES, UPWARD, float_state
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelverify.numerics.bits import float32_bits
from pytest_kernelverify.numerics.generators import adversarial_float32_payload, exact_structural_payload
from pytest_kernelverify.numerics.payloads import (
    EncodedBoolPayload,
    EncodedFloat32Payload,
    EncodedInputs,
    EncodedInt32Payload,
    ExactStructuralPayload,
    encoded,
    word_hash,
)

FLOATS = EncodedFloat32Payload.from_bits([0, 0x80000000, 0x3F800000, 0x7F800001, 0xFFC12345])
INTEGERS = EncodedInt32Payload.from_values([0, -1, 2**31 - 1, -(2**31)])
BOOLEANS = EncodedBoolPayload.from_values([True, False, True])
PAYLOADS = [FLOATS, INTEGERS, BOOLEANS]


@given(st.lists(st.integers(0, 2**32 - 1), max_size=50))
def test_from_bits_returns_canonical_words_and_the_hash_of_their_little_endian_bytes(words: list[int]) -> None:
    digest = hashlib.sha256(struct.pack(f"<{len(words)}I", *words)).hexdigest()
    for source in (words, tuple(words), iter(words), np.array(words, dtype=np.uint64), [np.uint32(w) for w in words]):
        payload = EncodedFloat32Payload.from_bits(source)
        assert payload.bits == tuple(words)
        assert all(type(word) is int for word in payload.bits)
        assert payload.bit_hash == digest
    assert EncodedInt32Payload.from_bits(words).bit_hash == digest


@pytest.mark.parametrize("wrong", [True, np.False_, 1.0, np.float32(1), "1", None])
def test_a_boolean_or_non_integral_word_fails_with_type_error(wrong: object) -> None:
    with pytest.raises(TypeError):
        EncodedFloat32Payload.from_bits([0, wrong])


@pytest.mark.parametrize("wrong", [np.array([True]), np.array([1.0]), "12", 7])
def test_a_source_of_something_else_than_words_fails_with_type_error(wrong: object) -> None:
    with pytest.raises(TypeError):
        EncodedFloat32Payload.from_bits(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [-1, 2**32, 10**30])
def test_an_out_of_range_word_fails_with_value_error(wrong: int) -> None:
    with pytest.raises(ValueError, match=r"0\.\.4294967295"):
        EncodedFloat32Payload.from_bits([0, wrong])
    if wrong < 2**40:
        with pytest.raises(ValueError, match=f"word {wrong} is out of range"):
            EncodedFloat32Payload.from_bits(np.array([0, wrong, 0]))


@pytest.mark.parametrize("make", [EncodedFloat32Payload.from_values, EncodedFloat32Payload.from_bits])
@pytest.mark.parametrize("kind", [list, iter])
def test_a_number_of_too_many_digits_is_described_and_not_printed(make, kind) -> None:  # type: ignore[no-untyped-def]
    for factory in (make, EncodedInt32Payload.from_values, EncodedInt32Payload.from_bits):
        for huge in (10**5000, -(10**5000)):
            with pytest.raises(ValueError, match="<integer of 16610 bits>") as error:
                factory(kind([huge]))
            assert len(str(error.value)) < 150
    with pytest.raises(TypeError, match="is a list"):
        EncodedInt32Payload.from_values([[10**5000]])
    with pytest.raises(TypeError, match="is a int"):
        EncodedBoolPayload.from_values([10**5000])


class IntegerLie(int):
    def __index__(self) -> int:
        return 2

    def __le__(self, other: object) -> bool:
        return True

    __ge__ = __le__


def test_an_integer_subclass_is_encoded_by_its_value() -> None:
    assert EncodedInt32Payload.from_values([IntegerLie(1)]).bits == (1,)
    with pytest.raises(ValueError, match="out of range"):
        EncodedInt32Payload.from_values([IntegerLie(2**31)])


def test_a_buffer_of_binary32_numbers_keeps_its_words() -> None:
    raw = struct.pack("<2I", 0x7F800001, 0xFFA5A5A5)
    numbers = array.array("f")
    numbers.frombytes(raw)
    for buffer in (numbers, memoryview(numbers), memoryview(raw).cast("f")):
        assert EncodedFloat32Payload.from_values(buffer).bits == (0x7F800001, 0xFFA5A5A5)
    numbers[0] = 1.0
    kept = EncodedFloat32Payload.from_values(numbers)
    numbers[0] = 2.0
    assert kept.bits[0] == 0x3F800000


@pytest.mark.parametrize("state", STATES)
def test_preserve_adversarial_float32_identity_under_any_rounding_mode_and_flush_bits(
    state: tuple[int, int, int],
) -> None:
    payload = adversarial_float32_payload()
    with float_state(*state):
        again = EncodedFloat32Payload.from_values(payload.values())
        arrays = EncodedFloat32Payload.from_values(np.array(payload.values()))
        structural = exact_structural_payload(3, 5, product=True)
    assert again.bits == arrays.bits == payload.bits
    assert structural == exact_structural_payload(3, 5, product=True)


def test_a_list_and_an_array_of_integers_encode_alike_under_any_state() -> None:
    for state in ((UPWARD, 0, 0), FLUSHING):
        with float_state(*state):
            assert EncodedFloat32Payload.from_values(np.array([2**24 + 1])).bits == (0x4B800000,)
            assert EncodedFloat32Payload.from_values([2**24 + 1] * 40).bits == (0x4B800000,) * 40


def test_from_values_quantises_each_value_exactly_once() -> None:
    values = [1, -0.0, 0.1, 2**60 + 2**36 + 1, 1e-46, math.inf]
    assert EncodedFloat32Payload.from_values(values).bits == tuple(map(float32_bits, values))
    assert EncodedFloat32Payload.from_values(v for v in values).bits == tuple(map(float32_bits, values))
    with pytest.raises(TypeError):
        EncodedFloat32Payload.from_values([1.0, False])
    with pytest.raises(ValueError, match="beyond"):
        EncodedFloat32Payload.from_values([1e39])


def test_int32_values_are_kept_as_unsigned_words_within_the_signed_range() -> None:
    assert INTEGERS.bits == (0, 2**32 - 1, 2**31 - 1, 2**31)
    assert INTEGERS.values() == (0, -1, 2**31 - 1, -(2**31))
    assert EncodedInt32Payload.from_values(np.array([-5, 7], dtype=np.int16)).values() == (-5, 7)
    for wrong in (2**31, -(2**31) - 1):
        with pytest.raises(ValueError, match="out of range"):
            EncodedInt32Payload.from_values([wrong])
    for other in (True, 1.0, "1", np.bool_(True)):
        with pytest.raises(TypeError):
            EncodedInt32Payload.from_values([other])


def test_bool_payloads_take_booleans_only() -> None:
    assert BOOLEANS.bits == (1, 0, 1)
    assert BOOLEANS.values() == (True, False, True)
    assert BOOLEANS.bit_hash == hashlib.sha256(b"\1\0\1").hexdigest()
    assert EncodedBoolPayload.from_values(np.array([[True], [False]])).bits == (1, 0)
    for wrong in (1, 0.0, "True"):
        with pytest.raises(TypeError):
            EncodedBoolPayload.from_values([wrong])
    with pytest.raises(ValueError, match=r"0\.\.1"):
        EncodedBoolPayload.from_bits([2])


def test_preserve_adversarial_float32_identity() -> None:
    payload = adversarial_float32_payload()
    again = EncodedFloat32Payload.from_values(payload.values())
    assert again == payload
    assert again.bits == payload.bits
    assert again.bit_hash == payload.bit_hash


def test_decode_one_payload_for_both_executions() -> None:
    inputs = EncodedInputs((FLOATS, INTEGERS, BOOLEANS))
    target, oracle = inputs.target_values(), inputs.oracle_values()
    assert isinstance(target, tuple)
    assert [tuple(map(struct_or_self, values)) for values in target] == [
        tuple(map(struct_or_self, values)) for values in oracle
    ]
    assert inputs.input_hashes == (FLOATS.bit_hash, INTEGERS.bit_hash, BOOLEANS.bit_hash)
    for values, payload in zip(target, PAYLOADS, strict=True):
        assert type(payload).from_values(values).bits == payload.bits


def struct_or_self(value: object) -> object:
    return struct.pack("<d", value) if isinstance(value, float) else value


def test_values_does_not_change_the_stored_words() -> None:
    before = FLOATS.bits, FLOATS.bit_hash
    FLOATS.values()
    assert (FLOATS.bits, FLOATS.bit_hash) == before


@pytest.mark.parametrize("kind", [EncodedFloat32Payload, EncodedInt32Payload, EncodedBoolPayload])
def test_direct_construction_retains_the_supplied_objects(kind: type[EncodedFloat32Payload]) -> None:
    bits, digest = (1, 0), "not a digest"
    payload = kind(bits, digest)
    assert payload.bits is bits
    assert payload.bit_hash is digest
    assert kind(bits=bits, bit_hash=digest) == payload
    assert payload.words.tolist() == [1, 0]
    assert [field.name for field in dataclasses.fields(payload)] == ["bits", "bit_hash"]


@pytest.mark.parametrize("payload", [*PAYLOADS, EncodedFloat32Payload((1,), "x"), EncodedInputs(tuple(PAYLOADS))])
def test_fields_cannot_be_reassigned_or_deleted(payload: object) -> None:
    for name in [field.name for field in dataclasses.fields(payload)] + ["_words", "other"]:  # type: ignore[arg-type]
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            setattr(payload, name, ())
    name = dataclasses.fields(payload)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(payload, name, ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        delattr(payload, name)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_word_array_is_read_only_and_the_source_is_not_shared(payload: EncodedFloat32Payload) -> None:
    with pytest.raises(ValueError, match="read-only"):
        payload.words[0] = 1
    source = np.array([1.0, 2.0], dtype=np.float32)
    locked = source.view()
    locked.flags.writeable = False
    for given_array in (source, locked):
        kept = EncodedFloat32Payload.from_values(given_array)
        source[0] = 9.0
        assert kept.values() == (1.0, 2.0)
        source[0] = 1.0
    words = np.array([1, 2], dtype=np.uint32)
    kept = EncodedFloat32Payload.from_bits(words)
    owned = EncodedFloat32Payload.from_words(words)
    words[0] = 7
    assert kept.bits == owned.bits == (1, 2)
    assert words.flags.writeable


@pytest.mark.parametrize(
    "payload",
    [
        *PAYLOADS,
        EncodedInt32Payload.from_values([5]),
        EncodedInt32Payload.from_bits(np.array([5], dtype=np.uint32)),
        EncodedFloat32Payload.from_values(np.array([5], dtype=np.float32)),
        EncodedFloat32Payload.from_words(np.array([5], dtype=np.uint32)[::1]),
        EncodedInt32Payload((5,), "x"),
        pickle.loads(pickle.dumps(INTEGERS)),
        copy.deepcopy(INTEGERS),
    ],
)
def test_nothing_makes_the_words_behind_a_hash_writable(payload: EncodedInt32Payload) -> None:
    before = payload.bit_hash, payload.bits
    words = payload.words
    for view in (words, words.view(), words[:1], words.reshape(1, -1), words.view(np.uint8), np.asarray(words)):
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.setflags(write=True)
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.flags.writeable = True
    owner = words
    while isinstance(owner, np.ndarray):
        assert not owner.flags.writeable
        owner = owner.base
    assert type(owner) is bytes
    assert type(payload).from_words(words).words.ctypes.data == words.ctypes.data  # immutable words are shared
    assert (payload.bit_hash, payload.bits) == before


def test_an_empty_payload_is_a_payload() -> None:
    for kind, dtype in ((EncodedFloat32Payload, "f32"), (EncodedInt32Payload, "i32"), (EncodedBoolPayload, "bool")):
        empty = kind.from_values([])
        assert (empty.bits, empty.values(), len(empty), empty.dtype) == ((), (), 0, dtype)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_equality_and_hash_go_by_value(payload: EncodedFloat32Payload) -> None:
    twin = type(payload)(tuple(payload.bits), str(payload.bit_hash))
    copied = encoded(payload.words.copy(), payload.dtype)
    for other in (twin, copied, pickle.loads(pickle.dumps(payload)), copy.deepcopy(payload), copy.copy(payload)):
        assert payload == other
        assert other == payload
        assert hash(other) == hash(payload)
        assert type(other) is type(payload)
    assert pickle.loads(pickle.dumps(twin)) == payload
    assert payload != type(payload)(payload.bits, "other digest")
    assert payload != type(payload)(payload.bits[:-1], payload.bit_hash)
    assert payload != payload.bits
    assert EncodedFloat32Payload.from_bits([1]) != EncodedInt32Payload.from_bits([1])
    assert dataclasses.replace(payload, bit_hash="x").bits == payload.bits


def test_a_short_payload_shows_its_words_and_a_long_one_its_length() -> None:
    assert repr(EncodedFloat32Payload((1, 2), "ab")) == "EncodedFloat32Payload(bits=(1, 2), bit_hash='ab')"
    for payload in (EncodedInt32Payload.from_bits(range(10_000)), EncodedInt32Payload(tuple(range(10_000)), "cd")):
        text = repr(payload)
        assert text.startswith("EncodedInt32Payload(bits=(0, 1, 2, ... 10000 words), bit_hash='")
        assert len(text) < 150
        assert len(payload) == 10_000


def test_a_large_array_makes_no_python_integers_until_bits_is_asked_for() -> None:
    payload = EncodedFloat32Payload.from_values(np.arange(1000, dtype=np.float32))
    slot = EncodedFloat32Payload.__dict__["bits"]
    assert payload.words.size == 1000
    assert payload.bit_hash == word_hash(payload.words)
    with pytest.raises(AttributeError):
        slot.__get__(payload)
    assert payload.bits is payload.bits
    assert slot.__get__(payload) is payload.bits


def test_the_hash_of_words_does_not_depend_on_byte_order_or_stride() -> None:
    words = np.arange(20, dtype=np.uint32)
    assert (
        word_hash(words) == word_hash(words.astype(">u4")) == hashlib.sha256(words.astype("<u4").tobytes()).hexdigest()
    )
    assert word_hash(words[::2]) == word_hash(words[::2].copy())
    assert word_hash(words[:0]) == hashlib.sha256(b"").hexdigest()


def test_an_exact_structural_payload_can_be_constructed_directly_and_is_frozen() -> None:
    payload = ExactStructuralPayload(FLOATS, None, 4, 8, 24)
    assert payload.lhs is FLOATS
    with pytest.raises(dataclasses.FrozenInstanceError):
        payload.rhs = FLOATS  # type: ignore[misc]


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'shape'"):
        getattr(FLOATS, "shape")  # noqa: B009
