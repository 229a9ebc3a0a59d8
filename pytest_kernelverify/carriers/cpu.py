"""The CPU carrier: NumPy parents, kernels of the compiled C library, and what that library says of itself."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.carriers.base import ERROR_KINDS, AdvertisedKernel, ArithmeticStateError, KernelError, View
from pytest_kernelverify.evidence.receipt import Receipt
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey
from pytest_kernelverify.operations.table import OPERATIONS

__all__ = ["CpuCarrier", "Library", "load_library"]

_MODULE = "pytest_kernelverify._oracle"
_DTYPES = {"f32": 0, "i32": 1, "bool": 2}
_ITEMSIZES = {"f32": 4, "i32": 4, "bool": 1}
_ACCUMULATIONS = {
    (None, None): 0,
    ("floating", "f32"): 1,
    ("floating", "f64"): 2,
    ("sequential_binary32", None): 3,
    ("exact_integer", None): 4,
}
_STATUSES = ("ok", *ERROR_KINDS)
_ROUNDINGS = ("to nearest", "downward", "upward", "toward zero", "inconsistent between units")
_TEMPLATES_KEPT = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """One loaded kernel library: its binding, its table and the digest of its file."""

    ffi: Any
    lib: Any
    kernels: tuple[AdvertisedKernel, ...]
    shared_sources: tuple[tuple[str, str], ...]
    compiler: str
    options: tuple[str, ...]
    artifact: str
    bytes_type: Any
    views: dict[tuple[str, Layout], tuple[Any, int, int]] = field(default_factory=dict)

    def view(self, dtype: str, layout: Layout) -> tuple[Any, int, int]:
        """A ``kv_view`` without data, its offset in bytes and the bytes its parent needs."""
        key = (dtype, layout)
        found = self.views.get(key)
        if found is None:
            if len(self.views) >= _TEMPLATES_KEPT:
                self.views.clear()
            found = self.views[key] = self._make_view(dtype, layout)
        return found

    def _make_view(self, dtype: str, layout: Layout) -> tuple[Any, int, int]:
        if dtype not in _DTYPES:
            raise KernelError(f"a view has dtype {dtype!r}; expected one of {', '.join(_DTYPES)}", "invalid")
        if len(layout.leaves) > self.lib.KV_MAX_RANK or any(
            len(mode) > self.lib.KV_MAX_LEAVES for mode in layout.leaves
        ):
            raise KernelError(
                f"a view has layout {layout}; at most {self.lib.KV_MAX_RANK} modes of {self.lib.KV_MAX_LEAVES} leaves"
                " can be addressed",
                "invalid",
            )
        view = self.ffi.new("kv_view *")
        view.dtype = _DTYPES[dtype]
        view.rank = len(layout.leaves)
        for mode, leaves in zip(view.modes, layout.leaves, strict=False):
            mode.leaf_count = len(leaves)
            for leaf, (extent, stride) in zip(mode.leaves, leaves, strict=False):
                leaf.extent, leaf.stride = extent, stride
        itemsize = _ITEMSIZES[dtype]
        return view[0], layout.offset * itemsize, layout.span * itemsize


def load_library(path: Path | None = None) -> Library:
    """The installed kernel library, or another build of it.

    RuntimeError naming what could not be loaded and how to build it; ArithmeticStateError where loading it changed the
    rounding mode or the flush bits.
    """
    return _installed() if path is None else _describe(path)


@cache
def _installed() -> Library:
    return _describe(None)


def _describe(path: Path | None) -> Library:
    name = _MODULE if path is None else path.name
    try:
        module = import_module(_MODULE) if path is None else _load_file(path)
        ffi, lib = module.ffi, module.lib
        own = lib.kv_describe()
    except (ImportError, OSError, AttributeError) as error:
        raise RuntimeError(
            f"the compiled CPU kernel library {name} could not be loaded ({error}); build it with `pip install .` in a"
            " checkout of pytest-kernelverify, which needs a C11 compiler"
        ) from error

    def text(pointer: Any) -> str:
        return str(ffi.string(pointer).decode("utf-8"))

    def source(entry: Any) -> tuple[str, str]:
        return text(entry.name), text(entry.digest)

    library = Library(
        ffi,
        lib,
        tuple(
            AdvertisedKernel(
                text(row.kernel_id),
                text(row.variant),
                text(row.operation),
                text(row.binding_name),
                *source(row.source),
                tuple(text(row.plans[index]) for index in range(row.plan_count)),
            )
            for row in own.kernels[0 : own.kernel_count]
        ),
        tuple(source(own.shared[index]) for index in range(own.shared_count)),
        text(own.compiler),
        tuple(text(own.options).split()),
        hashlib.sha256(Path(module.__file__ or "").read_bytes()).hexdigest(),
        ffi.typeof("unsigned char[]"),
    )
    _check_state(library, f"after loading {name}")
    return library


def _load_file(path: Path) -> ModuleType:
    """Another build under the same module name. CPython enters it in ``sys.modules``: what stood there is put back."""
    names = (_MODULE, f"{_MODULE}.lib")
    kept = {name: sys.modules.get(name) for name in names}
    loader = ExtensionFileLoader(_MODULE, str(path))
    spec = spec_from_file_location(_MODULE, path, loader=loader)
    if spec is None:
        raise ImportError(f"{path.name} is not an extension module")
    try:
        module = module_from_spec(spec)
        loader.exec_module(module)
    finally:
        for name, value in kept.items():
            if value is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = value
    return module


def _check_state(library: Library, where: str) -> None:
    state = library.lib.kv_get_float_state()
    if not (state.rounding or state.flush_results or state.flush_operands):
        return
    flushed = [what for what, on in (("results", state.flush_results), ("operands", state.flush_operands)) if on]
    found = f"rounding is {_ROUNDINGS[state.rounding]}, subnormal " + (
        f"{' and '.join(flushed)} are flushed to zero" if flushed else "numbers are preserved"
    )
    state.rounding = state.flush_results = state.flush_operands = 0
    restored = library.lib.kv_set_float_state(state) == 0
    raise ArithmeticStateError(
        f"{where}: {found}; expected rounding to nearest and preserved subnormals;"
        f" {'this state has been restored' if restored else 'it could not be restored'}"
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Binding:
    """A kernel ready to be called: its function and its parameters' defaults."""

    row: AdvertisedKernel
    function: Any
    defaults: Any
    parameters: frozenset[str]


class CpuCarrier:
    """Launches the kernels of the C library on views in NumPy parents.

    A parent is a C-contiguous array of words: uint32 for f32 and i32, uint8 for bool.
    """

    def __init__(self, profile_id: str = "cpu-compiled", *, _library: Path | None = None) -> None:
        self.profile_id = profile_id
        self._library = load_library(_library)
        self._bindings = {(row.kernel_id, row.variant): self._bind(row) for row in self._library.kernels}
        self._call_type = self._library.ffi.typeof("kv_call *")
        self._error_type = self._library.ffi.typeof("kv_error *")
        self._receipts: dict[LogicalKernel, Receipt] = {}

    def _bind(self, row: AdvertisedKernel) -> _Binding:
        operation = OPERATIONS.get(row.operation)
        parameters = dict(operation.parameters) if operation else {}
        return _Binding(
            row,
            getattr(self._library.lib, row.binding_name),
            self._library.ffi.new("kv_parameters *", parameters),
            frozenset(parameters),
        )

    def _binding(self, kernel: LogicalKernel) -> _Binding:
        try:
            return self._bindings[kernel.kernel_id, kernel.variant]
        except KeyError:
            raise ValueError(
                f"the CPU kernel library has no kernel {kernel.kernel_id!r} of variant {kernel.variant!r}"
            ) from None

    def advertised(self) -> tuple[AdvertisedKernel, ...]:
        """The kernels of the library's own table, in its order."""
        return self._library.kernels

    def receipt(self, kernel: LogicalKernel) -> Receipt:
        """What this kernel was compiled from; ValueError for a kernel the library does not have."""
        found = self._receipts.get(kernel)
        if found is None:
            library, row = self._library, self._binding(kernel).row
            found = self._receipts[kernel] = Receipt(
                kind="compiled-executable",
                provider="c-library",
                kernel=kernel,
                binding_name=row.binding_name,
                sources=((row.source, row.source_digest), *library.shared_sources),
                compiler=library.compiler,
                options=library.options,
                architecture=platform.machine(),
                operating_system=platform.system(),
                endianness=sys.byteorder,
                pointer_bits=8 * int(library.ffi.sizeof("void *")),
                artifact=library.artifact,
            )
        return found

    def allocate(self, words: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A parent of its own holding these words (uint32 or uint8)."""
        if words.dtype not in (np.uint32, np.uint8):
            raise ValueError(f"a parent holds uint32 or uint8 words, not {words.dtype}")
        return np.array(words, order="C")

    def fetch(self, memory: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A copy of the parent's words."""
        return memory.copy()

    def launch(
        self,
        kernel: LogicalKernel,
        plan: PlanKey | None,
        operands: Sequence[View],
        output: View,
        parameters: Mapping[str, Any],
    ) -> None:
        """Run one kernel in this thread.

        KernelError with its kind where the kernel reports an error; ArithmeticStateError where rounding mode or flush
        bits are not the declared ones afterwards; ValueError for a plan, view or parameter that does not belong to it.
        """
        library, binding = self._library, self._binding(kernel)
        if plan is not None:
            _check_plan(plan, binding.row, operands, output)
        call = library.ffi.new(self._call_type)
        error = library.ffi.new(self._error_type)
        if len(operands) > library.lib.KV_MAX_OPERANDS:
            raise KernelError(f"{kernel.kernel_id} is given {len(operands)} operands", "invalid")
        call.count = len(operands)
        slots = call.operands
        kept = [_place(library, slots, index, view) for index, view in enumerate(operands)]
        kept.append(_place(library, library.ffi.addressof(call, "output"), 0, output, writable=True))
        call.parameters = binding.defaults[0]
        if plan is not None:
            call.parameters.accumulation = _ACCUMULATIONS[plan.accumulation, plan.accumulator]
        for name, value in parameters.items():
            if name not in binding.parameters:
                raise ValueError(f"{binding.row.operation} has no parameter {name!r}")
            try:
                setattr(call.parameters, name, value)
            except OverflowError:
                message = f"{binding.row.operation}: {name} is {value}; it is out of range"
                raise KernelError(message, "invalid") from None
        status = binding.function(call, error)
        self.check_arithmetic_state(f"after launching {kernel.kernel_id}")
        if status:
            kind = _STATUSES[status] if 0 < status < len(_STATUSES) else None
            raise KernelError(library.ffi.string(error.message).decode("utf-8", "replace"), kind)

    def synchronize(self) -> None:
        """Nothing to wait for: launch returns when the kernel is done."""

    def check_arithmetic_state(self, where: str) -> None:
        """ArithmeticStateError naming the state found and ``where``, after restoring the declared state."""
        _check_state(self._library, where)


def _check_plan(plan: PlanKey, row: AdvertisedKernel, operands: Sequence[View], output: View) -> None:
    fits = plan.operation == row.operation and plan.output == output.dtype and len(plan.operands) == len(operands)
    for operand, view in zip(plan.operands, operands, strict=False):
        fits = fits and operand.dtype == view.dtype
    if not fits:
        dtypes = ",".join(view.dtype for view in operands)
        raise ValueError(f"plan {plan.text} does not describe {row.kernel_id} on ({dtypes})->{output.dtype}")


def _place(library: Library, slots: Any, index: int, view: View, *, writable: bool = False) -> Any:
    """Fill one ``kv_view`` of the call; the buffer returned must outlive it."""
    template, offset, needed = library.view(view.dtype, view.layout)
    buffer = library.ffi.from_buffer(library.bytes_type, view.memory, writable)
    if needed > view.memory.nbytes or view.memory.itemsize != _ITEMSIZES[view.dtype]:
        raise ValueError(
            f"a parent of {view.memory.size} {view.memory.dtype} words does not hold {view.dtype} elements in the"
            f" layout {view.layout}"
        )
    slots[index] = template
    slots[index].data = buffer + offset
    return buffer
