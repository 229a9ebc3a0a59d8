"""--collect-only executes nothing, writes nothing and checks nothing that needs a runtime."""

from __future__ import annotations

EXECUTES_NOTHING = """
import pytest_kernelverify.carriers.cpu as cpu

def launch(self, *args, **options):
    raise AssertionError("a kernel was launched")

cpu.CpuCarrier.launch = launch
"""


def test_collect_only_executes_nothing_and_writes_nothing(project):
    project.conftest(EXECUTES_NOTHING)
    result = project.verify("--collect-only", "-q", fresh=True)
    assert result.ret == 0
    assert sum("::test_oracle[" in line for line in result.outlines) > 100
    assert sum("::test_target[" in line for line in result.outlines) > 100
    assert not project.report.exists()
    assert not project.journal.exists()
    result.stdout.no_fnmatch_line("*= kernelverify =*")


def test_the_seam_of_this_file_sees_launches(plain):
    plain.conftest(EXECUTES_NOTHING)
    assert plain.verify("-k", "recip", fresh=True).ret == 1


def test_collect_only_lists_a_target_whose_runtime_is_missing(plain):
    result = plain.run("--kv-target=metal-tilelang", "--collect-only", "-q")
    assert result.ret == 0
    assert any("test_target[matmul-" in line for line in result.outlines)
