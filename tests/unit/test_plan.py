"""PlanKey: one exact spelling, one normal form, and every other spelling refused with the field that is wrong."""

from __future__ import annotations

import copy
import pickle
import re
from collections import deque
from dataclasses import FrozenInstanceError, replace
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kernelverify import LogicalKernel, OperandKey, OperandRole, PlanKey
from pytest_kernelverify.catalog.load import manifest_of, verification_profiles

MATMUL = "matmul(f32,i32>f32)->f32 compute=f32 acc=floating:f64"
KEY = PlanKey(
    "matmul",
    (OperandKey(OperandRole.TENSOR, "f32"), OperandKey(OperandRole.TENSOR, "i32", "f32")),
    "f32",
    "floating",
    "f64",
    "f32",
)
PLANS = sorted({row.plan.text for profile in verification_profiles() for row in manifest_of(profile).plans})


def test_a_text_and_its_key_are_two_forms_of_one_plan() -> None:
    assert PlanKey.from_text(MATMUL) == KEY
    assert KEY.text == MATMUL
    assert KEY.token == "matmul-f32_i32_f32-acc_f64"


@pytest.mark.parametrize("text", PLANS)
def test_every_shipped_plan_survives_the_round_trip(text: str) -> None:
    assert PlanKey.from_text(text).text == text


def test_every_shipped_token_is_a_test_id_and_names_one_plan() -> None:
    tokens = {PlanKey.from_text(text).token: text for text in PLANS}
    assert len(tokens) == len(PLANS)
    assert all(re.fullmatch(r"[a-z0-9_]+(-[a-z0-9_]+)+", token) for token in tokens)


@pytest.mark.parametrize(
    "plan",
    [
        KEY,
        MATMUL,
        {
            "operation": "matmul",
            "operands": ["f32", "i32>f32"],
            "compute": "f32",
            "accumulation": "floating",
            "accumulator": "f64",
            "output": "f32",
        },
        SimpleNamespace(
            operation="matmul",
            operands=(
                {"dtype": "f32"},
                SimpleNamespace(role="tensor", dtype="i32", convert_to="f32"),
            ),
            compute="f32",
            accumulation="floating",
            accumulator="f64",
            output="f32",
        ),
    ],
    ids=["key", "text", "mapping", "object"],
)
def test_from_plan_like_shall_normalize_each_form_to_one_key(plan: Any) -> None:
    assert PlanKey.from_plan_like(plan) == KEY


def test_from_plan_like_shall_keep_order_roles_and_conversions_of_operands() -> None:
    key = PlanKey.from_plan_like(
        {"operation": "pow", "operands": ("i32>f32", "f32:scalar"), "compute": "f32", "output": "f32"}
    )
    assert [(o.role, o.dtype, o.convert_to) for o in key.operands] == [
        (OperandRole.TENSOR, "i32", "f32"),
        (OperandRole.SCALAR, "f32", None),
    ]
    assert (key.accumulation, key.accumulator) == (None, None)
    assert key.token == "pow-i32_f32s_f32"


def loose(**changes: Any) -> dict[str, Any]:
    return {"operation": "add", "operands": ["f32", "f32"], "compute": "f32", "output": "f32", **changes}


class Derived(PlanKey):
    """A plan key of a class of its own."""


@pytest.mark.parametrize(
    "plan",
    [
        loose(operands=["f32>f32", "f32"]),
        loose(operands=("f32", {"dtype": "f32", "convert_to": "f32"})),
        loose(operands=[OperandKey(OperandRole.TENSOR, "f32", "f32")] * 2),
        PlanKey("add", (OperandKey(OperandRole.TENSOR, "f32", "f32"),) * 2, "f32", None, None, "f32"),
        Derived("add", (OperandKey(OperandRole.TENSOR, "f32"),) * 2, "f32", None, None, "f32"),
        "add(f32>f32,f32)->f32 compute=f32",
    ],
)
def test_from_plan_like_shall_normalize_a_conversion_to_itself_and_a_subclass(plan: Any) -> None:
    key = PlanKey.from_plan_like(plan)
    assert type(key) is PlanKey
    assert key == PlanKey.from_text("add(f32,f32)->f32 compute=f32")
    assert key.text == "add(f32,f32)->f32 compute=f32"
    assert type(Derived.from_plan_like(plan)) is PlanKey


def test_a_text_that_converts_to_itself_is_not_canonical() -> None:
    with pytest.raises(ValueError, match=re.escape("not canonical; expected 'add(f32,f32)->f32 compute=f32'")):
        PlanKey.from_text("add(f32>f32,f32)->f32 compute=f32")


def test_from_plan_like_gives_a_canonical_key_back_as_it_is() -> None:
    assert PlanKey.from_plan_like(KEY) is KEY


class Token(str):
    """A text of a class of its own."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return "other"


def test_from_plan_like_shall_normalize_texts_of_another_class() -> None:
    plain = PlanKey.from_plan_like(loose())
    plan = loose(operation=Token("add"), operands=[Token("f32"), {"dtype": Token("f32")}], compute=Token("f32"))
    for given in (plan, PlanKey(Token("add"), plain.operands, Token("f32"), None, None, Token("f32"))):
        key = PlanKey.from_plan_like(given)
        assert (key, key.text) == (plain, plain.text)
        assert {type(text) for text in (key.operation, key.compute, key.output)} == {str}


@pytest.mark.parametrize(
    "operands",
    [{"f32"}, frozenset({"f32"}), {"f32": 1}, {"f32": 1}.keys(), {1: "f32"}.values(), "f32", b"f32", 3, iter(["f32"])],
)
def test_operands_that_have_no_order_of_their_own_are_a_type_error(operands: Any) -> None:
    with pytest.raises(TypeError, match=f"plan operands are .*{type(operands).__name__}|plan operands are the text"):
        PlanKey.from_plan_like(loose(operands=operands))
    with pytest.raises(TypeError, match="plan operands are"):
        PlanKey.from_plan_like(SimpleNamespace(**loose(operands=operands)))
    assert PlanKey.from_plan_like(loose(operands=deque(["i32", "f32"]))).operands[0].dtype == "i32"


def test_what_a_key_remembers_cannot_be_changed() -> None:
    key = replace(KEY)
    assert key.text == MATMUL
    assert key.token == "matmul-f32_i32_f32-acc_f64"
    for name in ("text", "token", "_text", "_token", "_hash", "_names", "other"):
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            setattr(key, name, "forged")
        value = getattr(key, name, "")
        assert callable(value) or isinstance(value, (str, int))
    assert (key.text, key, hash(key)) == (MATMUL, KEY, hash(KEY))
    assert not [name for name in dir(key) if isinstance(getattr(key, name), (list, set, bytearray))]
    assert not [name for name in dir(key) if type(getattr(key, name)) is dict and not name.startswith("__")]


def test_copies_and_pickles_of_a_key_are_equal_and_named_anew() -> None:
    assert (KEY.text, hash(KEY)) == (MATMUL, hash(replace(KEY)))
    for twin in (copy.copy(KEY), copy.deepcopy(KEY), pickle.loads(pickle.dumps(KEY))):
        assert (twin, hash(twin), twin.text, twin.token) == (KEY, hash(KEY), KEY.text, KEY.token)
    assert MATMUL.encode() not in pickle.dumps(KEY)
    assert repr(KEY).endswith("accumulation='floating', accumulator='f64', output='f32')")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "matmul",
        "matmul(f32,f32)->f32",
        "matmul(f32,f32)->f32  compute=f32",
        "matmul(f32,,f32)->f32 compute=f32",
        "matmul(f32,f32,)->f32 compute=f32",
        "matmul(f32:tensor,f32)->f32 compute=f32",
        "matmul(f32>,f32)->f32 compute=f32",
        "Matmul(f32,f32)->f32 compute=f32",
        "matmul(f32,f32)->f32 compute=f32 acc=floating:f64 ",
        "matmul(f32,f32)->f32 compute=f32 acc=",
        "matmul(f32,f32)->f32 compute=f32\n",
    ],
)
def test_another_spelling_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        PlanKey.from_text(text)


def test_a_space_inside_an_operand_is_refused_as_part_of_its_dtype() -> None:
    with pytest.raises(ValueError, match="plan operand dtype is ' f32'"):
        PlanKey.from_text("matmul(f32, f32)->f32 compute=f32")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"compute": "f16"}, "plan compute is 'f16'; expected one of f32, i32_checked, i32, word"),
        ({"accumulation": "kahan"}, "plan accumulation is 'kahan'"),
        ({"accumulator": "f16"}, "plan accumulator is 'f16'; expected one of f32, f64"),
        ({"accumulator": None}, "plan accumulator is None"),
        ({"accumulation": None}, "plan accumulator is 'f64'; expected one of None"),
        ({"accumulation": "exact_integer"}, "plan accumulator is 'f64'"),
        ({"output": "f64"}, "plan output is 'f64'; expected one of f32, i32, bool"),
        ({"operation": "mat mul"}, "plan operation is 'mat mul'"),
        ({"operation": 3}, "plan operation is 3"),
        ({"operands": (OperandKey(OperandRole.TENSOR, "f16"),)}, "plan operand dtype is 'f16'"),
        ({"operands": (OperandKey(OperandRole.TENSOR, "f32", "f64"),)}, "plan operand convert_to is 'f64'"),
        ({"operands": (OperandKey("vector", "f32"),)}, "plan operand role is 'vector'"),
    ],
)
def test_a_value_that_no_plan_may_have_is_a_value_error_naming_the_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        PlanKey.from_plan_like(replace(KEY, **change))


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (None, "NoneType is not plan-like: it has no operation, operands, compute, output"),
        (7, "int is not plan-like"),
        ({"operation": "add", "operands": ["f32"], "output": "f32"}, "dict is not plan-like: it has no compute"),
        (replace(KEY, operands=list(KEY.operands)), "plan operands are a list"),
        (replace(KEY, operands=("f32",)), "plan operand 'f32' is not an OperandKey"),
        ({"operation": "neg", "operands": "f32", "compute": "f32", "output": "f32"}, "plan operands are the text"),
    ],
)
def test_what_is_no_plan_at_all_is_a_type_error(plan: Any, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        PlanKey.from_plan_like(plan)


def test_an_unknown_role_in_a_text_is_named() -> None:
    with pytest.raises(ValueError, match="role is 'vector'; expected tensor or scalar"):
        PlanKey.from_text("neg(f32:vector)->f32 compute=f32")


@pytest.mark.parametrize("record", [KEY, KEY.operands[0], LogicalKernel("p", "add", "p.add", "scalar")])
def test_plan_keys_and_logical_kernels_shall_be_immutable(record: Any) -> None:
    name = type(record).__dataclass_fields__.keys().__iter__().__next__()
    with pytest.raises(FrozenInstanceError):
        setattr(record, name, "other")
    assert hash(record) == hash(replace(record))
