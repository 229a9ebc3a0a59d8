"""Stage One has teeth: each mutant of the C sources, loaded as the oracle, is refused a certificate."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from mutant_build import build_library
from mutants.operators import OPERATORS
from mutants.table import EQUIVALENT, MUTANTS, SOURCES, Mutant, active_kernels
from mutants.trial import Trial, try_library

# What a newcomer's run tries: the first mutant of each operator and of each edited file.
SAMPLE = {mutant.name: mutant for mutant in reversed(MUTANTS) if mutant.name not in EQUIVALENT}.values()
SAMPLE = list({(mutant.operator, mutant.file if mutant.edit else ""): mutant for mutant in SAMPLE}.values())
REST = [mutant for mutant in MUTANTS if mutant not in SAMPLE]


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutants")


def attempt(mutant: Mutant, objects: Path) -> Trial:
    try:
        library = build_library(SOURCES, objects, changed={mutant.file: mutant.source()})
    except subprocess.CalledProcessError as error:
        pytest.fail(f"{mutant.name} does not compile: {error.stderr}", pytrace=False)
    try:
        return try_library(library, mutant.kernel)
    finally:
        library.unlink()


def check_refused(mutant: Mutant, objects: Path) -> None:
    trial = attempt(mutant, objects)
    assert trial.died is None, f"{mutant.name} {trial.died}: a fault must be a record, not a crash"
    if mutant.name in EQUIVALENT:
        assert not trial.refused, f"{mutant.name} is listed as equivalent but was refused: {trial.why}"
    else:
        assert trial.refused, f"{mutant.name} was certified: no case of {mutant.kernel} sees the fault"


def test_there_are_at_least_120_mutants_and_two_for_each_active_kernel() -> None:
    effective = [mutant for mutant in MUTANTS if mutant.name not in EQUIVALENT]
    counts = Counter(mutant.kernel for mutant in effective)
    assert len(effective) >= 120
    assert {kernel for kernel in active_kernels() if counts[kernel] < 2} == set()
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_every_operator_is_used_and_every_equivalent_mutant_is_one_with_a_reason() -> None:
    assert {mutant.operator for mutant in MUTANTS} == {*OPERATORS, "edit"}
    assert set(EQUIVALENT) <= {mutant.name for mutant in MUTANTS}
    assert all(reason.strip() for reason in EQUIVALENT.values())


def test_the_unchanged_sources_are_certified(objects: Path) -> None:
    library = build_library(SOURCES, objects)
    for kernel in ("add", "matmul", "copy"):
        trial = try_library(library, kernel)
        assert trial == Trial((), "")


@pytest.mark.parametrize("mutant", SAMPLE, ids=lambda mutant: mutant.name)
def test_stage_one_refuses_a_mutant_of_each_operator(mutant: Mutant, objects: Path) -> None:
    check_refused(mutant, objects)


@pytest.mark.sweep
@pytest.mark.parametrize("mutant", REST, ids=lambda mutant: mutant.name)
def test_stage_one_refuses_every_mutant(mutant: Mutant, objects: Path) -> None:
    check_refused(mutant, objects)
