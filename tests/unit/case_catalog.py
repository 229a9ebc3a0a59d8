"""The whole catalog for tests: every item of cpu-compiled, its cases, and Generic's answers."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.cases.catalog import cases_for
from pytest_kernelverify.catalog.classify import classify_profile_plans
from pytest_kernelverify.catalog.load import verification_profile
from pytest_kernelverify.operations.generic import Answer, GenericError, evaluate
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass
from pytest_kernelverify.operations.table import SUBJECTS

CPU = verification_profile("cpu-compiled")
METAL = verification_profile("metal-tilelang")


class Obligation(NamedTuple):
    """One item: a plan or a subject, and a class."""

    plan: PlanKey | None
    subject: str | None
    verification_class: VerificationClass

    @property
    def id(self) -> str:
        token = self.plan.token if self.plan else self.subject
        return f"{token}-{self.verification_class.value}"

    def cases(self, profile=CPU, seed: int = 0) -> tuple[Case, ...]:
        return cases_for(self.plan, self.subject, self.verification_class, profile=profile, seed=seed)


def _subject_class(kind: str) -> VerificationClass:
    return VerificationClass.BIT_EXACT if kind == "movement" else VerificationClass.STRUCTURAL


@cache
def obligations(profile=CPU) -> tuple[Obligation, ...]:
    plans = [
        Obligation(entry.plan, None, verification_class)
        for entry in classify_profile_plans(profile)
        for verification_class in entry.classes
    ]
    subjects = [Obligation(None, name, _subject_class(entry.kind)) for name, entry in SUBJECTS.items()]
    return (*plans, *subjects)


@cache
def plans() -> tuple[PlanKey, ...]:
    return tuple(dict.fromkeys(item.plan for item in obligations() if item.plan is not None))


def cases_of(plan: PlanKey) -> list[Case]:
    """Every case of a plan, over its classes."""
    return [case for item in obligations() if item.plan == plan for case in item.cases()]


def all_cases() -> list[Case]:
    return [case for item in obligations() for case in item.cases()]


@cache
def answer_of(case: Case) -> Answer:
    """Generic's answer to a case that has one."""
    assert case.plan is not None
    bounds = case.verification_class is VerificationClass.NUMERICAL and case.output_dtype == "f32"
    return evaluate(case.plan, operands_of(case), case.parameters, bounds=bounds)


def error_of(case: Case) -> str | None:
    try:
        answer_of(case)
    except GenericError as error:
        return error.kind
    return None


def operands_of(case: Case):
    return [operand.words.reshape(operand.extents) for operand in case.operands]
