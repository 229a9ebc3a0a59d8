"""Every case again, from the installed catalog: what a case id determines is compared, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.evidence.canonical import canonical_json
from pytest_kernelverify.evidence.policy import policy_name
from pytest_kernelverify.evidence.record import EvidenceRecord, Outcome
from pytest_kernelverify.evidence.requirement import Requirement
from pytest_kernelverify.numerics.payloads import encoded
from pytest_kernelverify.operations.plan import VerificationClass
from pytest_kernelverify.report.header import Header
from pytest_kernelverify.report.owed import Owed
from pytest_kernelverify.stages.judge import canonical_nans
from pytest_kernelverify.stages.recording import cases_of, requirements_of

__all__ = ["check_cases"]


def check_cases(header: Header, records: Sequence[EvidenceRecord], owed: Owed, owners: dict[str, Obligation]) -> None:
    """ValueError naming the line of the first requirement or record that is not the catalog's."""
    by_owner: dict[Obligation, dict[str, Requirement]] = {}
    for name, obligation in owners.items():
        by_owner.setdefault(obligation, {})[name] = header.requirements[name]
    lines: dict[str, list[int]] = {}
    for index, record in enumerate(records):
        lines.setdefault(record.requirement, []).append(index)
    for obligation, present in by_owner.items():
        cases = cases_of(obligation, owed.profile(obligation.stage), header.seed)
        _check_requirements(present, {found.id: found for found in requirements_of(obligation, cases).values()})
        by_id = {case.case_id: case for case in cases}
        for index in (index for name in present for index in lines[name]):
            record = records[index]
            try:
                _check_facts(record, by_id[record.case.case_id])
            except ValueError as error:
                raise ValueError(f"line {index + 2}: record {record.case.case_id}: {error}") from None


def _check_requirements(present: dict[str, Requirement], expected: dict[str, Requirement]) -> None:
    for name, requirement in expected.items():
        if name not in present:
            raise ValueError(f"line 1: the requirement {name}, {requirement.what}, is missing or not the catalog's")
    for name, requirement in present.items():
        if name not in expected:
            raise ValueError(f"line 1: requirement {name}, {requirement.what}, is none of the catalog's")


def _check_facts(record: EvidenceRecord, case: Case) -> None:
    facts, plan = record.case, case.plan
    deferred = record.outcome is Outcome.DEFERRED
    verification_class = VerificationClass.DEFERRED if deferred else case.verification_class
    dtypes = tuple(operand.dtype for operand in (case.operands or (plan.operands if plan is not None else ())))
    hashes = tuple(encoded(operand.words, operand.dtype).bit_hash for operand in case.operands)
    for name, found, expected in (
        ("dtypes", (*facts.operand_dtypes, facts.output_dtype), (*dtypes, case.output_dtype)),
        (
            "layouts",
            (*facts.layouts, facts.output_layout),
            (*(operand.layout for operand in case.operands), case.output_layout),
        ),
        ("accumulator", facts.accumulator, plan.accumulator if plan is not None else None),
        ("contraction_length", facts.contraction_length, case.contraction_length),
        ("parameters", canonical_json(dict(facts.parameters)), canonical_json(dict(case.parameters))),
        ("seed", facts.seed, case.seed),
        ("policy", record.policy, policy_name(record.stage, plan, verification_class, error=case.error is not None)),
        ("input_hashes", record.target_input_hashes, hashes),
    ):
        if found != expected:
            raise ValueError(f"{name} is {found!r}; the catalog's case has {expected!r}")
    if record.outcome is Outcome.PASSED and record.output_hash is not None and not record.accepted:
        stated = _stated(case)
        if stated is not None and encoded(stated, case.output_dtype).bit_hash != record.output_hash:
            raise ValueError("it passed with another output_hash than the words its case states")


def _stated(case: Case) -> npt.NDArray[Any] | None:
    """The result where the case itself says it: an independently stated answer, or a movement."""
    if case.plan is None:
        words = case.operands[0].words
        return words + np.uint32(1) if case.subject == "coverage" else words
    if case.expected is None:
        return None
    return canonical_nans(case.expected, case.output_dtype)
