"""Generic: the exact reference, independent of every kernel; integers throughout, one rounding at the end."""

from pytest_kernelverify.operations.generic.answer import ERROR_KINDS, Answer, GenericError
from pytest_kernelverify.operations.generic.digest import implementation_digest
from pytest_kernelverify.operations.generic.dispatch import evaluate
from pytest_kernelverify.operations.generic.qualify import qualify

__all__ = ["ERROR_KINDS", "Answer", "GenericError", "evaluate", "implementation_digest", "qualify"]
