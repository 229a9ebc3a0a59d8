"""Open the carrier of a profile; the one place that maps carrier names to modules."""

from __future__ import annotations

from pytest_kernelverify.carriers.base import Carrier

__all__ = ["open_carrier"]


def open_carrier(profile_id: str, carrier: str) -> Carrier:
    """The carrier a profile names; RuntimeError saying what is missing where it cannot run here."""
    if carrier == "cpu":
        from pytest_kernelverify.carriers.cpu import CpuCarrier

        return CpuCarrier(profile_id)
    if carrier == "metal":
        raise RuntimeError(
            f"profile {profile_id!r} cannot run: this version ships its manifest, plans and classes but not the Metal"
            " carrier (TileLang through torch MPS on Apple silicon); run --kv-target=cpu-compiled instead"
        )
    raise RuntimeError(f"profile {profile_id!r} names the carrier {carrier!r}, which this version does not have")
