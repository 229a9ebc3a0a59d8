"""Ways to forge a report: a value changed, dropped or doubled; and every digest and id made right again afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

from pytest_kernelverify.evidence.canonical import canonical_json, digest_of
from pytest_kernelverify.report.report import VerificationReport

Path = tuple[str | int, ...]
Lines = list[dict[str, Any]]

STAGES = ("oracle", "target", "ladder", "proof")
# Fields that name something else, by the words another honest value of theirs could be.
VOCABULARY: Mapping[str, tuple[Any, ...]] = {
    "stage": STAGES,
    "class": ("bit_exact", "exact_arithmetic", "structural", "analytic", "numerical", "deferred", "leaf", "gap"),
    "outcome": ("passed", "failed", "error", "blocked", "deferred"),
    "authority": ("certificate", "generic", "user"),
    "isolation": ("in_process", "subprocess"),
    "accumulator": ("f32", "f64", None),
    "dtypes": (["i32", "i32"], ["f32", "f32", "f32"], ["bool", "f32"]),
    "order": ("sequential",),
    "accepted": ({"signed_zero": 1}, {"repeatability": 1}, {"subnormals": 1}),
    "endianness": ("little", "big"),
    "pointer_bits": (32, 64),
    "parameters": ({"k": 1},),
    "classes": (["structural"], ["exact_arithmetic", "structural"]),
    "stages": (["target"], ["oracle"]),
    "bound": (0.5, 1e-3),
    "worst_ratio": (0.5, 1.0),
    "plan": ("neg(f32)->f32 compute=f32", "add(f32,f32)->f32 compute=f32"),
    "subject": ("copy", "view"),
}


def lines_of(report: VerificationReport) -> Lines:
    return [json.loads(line) for line in report.to_jsonl().splitlines()]


def text_of(lines: Lines) -> str:
    return "".join(canonical_json(line) + "\n" for line in lines)


def paths_in(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every field and every element, containers before what they hold; of a list only first and last."""
    if path:
        yield path
    if isinstance(value, dict):
        for name in value:
            yield from paths_in(value[name], (*path, name))
    elif isinstance(value, list):
        for index in sorted({0, len(value) - 1} if value else ()):
            yield from paths_in(value[index], (*path, index))


def at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def shown(path: Path) -> str:
    """A path as the documentation names it: elements of lists and keyed objects without their index."""
    return ".".join(part for part in path if isinstance(part, str) and not _is_id(part))


def _is_id(part: str) -> bool:
    return len(part) == 16 and not set(part) - set("0123456789abcdef")


def other_values(value: Any, name: str, siblings: list[Any]) -> list[Any]:
    """Other values a forger might write: of the vocabulary, of other lines, near the present one, of other types."""
    found: list[Any] = [*VOCABULARY.get(name, ()), *siblings[:4]]
    if isinstance(value, bool):
        found += [not value, int(value)]
    elif isinstance(value, int):
        found += [value + 1, value - 1, 0, float(value)]
    elif isinstance(value, float):
        found += [value / 2, value + 1.0, 0.0, int(value)]
    elif isinstance(value, str):
        found += [_flipped(value), value + "x", ""]
    elif isinstance(value, list):
        found += [value[:-1], value[::-1], [*value, value[-1]] if value else ["x"], []]
    elif isinstance(value, dict):
        found += [{}, {**value, "x": 1}]
    else:
        found += ["x", 0, 0.5, False, [], {}]
    found.append(None)
    unlike = {canonical_json(value): None}
    return [other for other in found if unlike.setdefault(canonical_json(other), other) is other and other != value]


def _flipped(text: str) -> str:
    """The same text with its last character changed, so that a digest stays one."""
    return text[:-1] + ("0" if text[-1:] != "0" else "1") if text else "x"


def changed(lines: Lines, index: int, path: Path, value: Any) -> Lines:
    result = _copied(lines, index, path)
    at(result[index], path[:-1])[path[-1]] = value
    return result


def dropped(lines: Lines, index: int, path: Path) -> Lines:
    result = _copied(lines, index, path)
    del at(result[index], path[:-1])[path[-1]]
    return result


def _copied(lines: Lines, index: int, path: Path) -> Lines:
    """The lines with fresh containers along one path, so that what it leads to can be changed."""
    result = list(lines)
    result[index] = here = copy(lines[index])
    for part in path[:-1]:
        here[part] = copy(here[part])
        here = here[part]
    return result


def doubled_text(lines: Lines, index: int, path: Path) -> str:
    """The text with one key of one object, or one element of a list, written twice."""
    parent, last = at(lines[index], path[:-1]), path[-1]
    mark = "\x00twice\x00"
    if isinstance(parent, dict):
        altered = dropped(lines, index, path)
        at(altered[index], path[:-1])[mark] = None
        pair = f"{canonical_json(last)}:{canonical_json(parent[last])}"
        return text_of(altered).replace(f"{canonical_json(mark)}:null", f"{pair},{pair}")
    twice = [*parent[: int(last)], parent[int(last)], *parent[int(last) :]]
    return text_of(changed(lines, index, path[:-1], twice))


def resealed(lines: Lines, touched: Path = ()) -> Lines:
    """Every digest, id, count and reference made right again, as a forger who knows the schema would.

    ``touched`` is the header path that was altered, if one was: what stands there is left as the forger wrote it.
    """
    header, *records = (dict(line) for line in lines)
    for kind in ("requirements", "certificates"):
        if _held(header, kind):
            header[kind] = {name: dict(part) if isinstance(part, dict) else part for name, part in header[kind].items()}
    for kind, refer in (("receipts", _receipt), ("oracle_references", _reference)):
        for old, new in _rekeyed(header, kind).items():
            for record in records:
                refer(record, old, new)
            for certificate in _held(header, "certificates").values():
                _certified_receipt(certificate, header, old, new)
    _recount(header, records, touched)
    for old, new in _rekeyed(header, "requirements").items():
        for record in records:
            if record.get("requirement") == old:
                record["requirement"] = new
    records.sort(key=_sort_key)
    _redigest(records)
    _recertify(header, records, touched)
    _redigest(records)
    right = {"records_digest": digest_of([record.get("digest") for record in records]), "record_count": len(records)}
    header.update({name: value for name, value in right.items() if touched != (name,)})
    header.pop("digest", None)
    header["digest"] = digest_of(header)
    return [header, *records]


def _sort_key(record: dict[str, Any]) -> tuple[Any, ...]:
    case = record.get("case") if isinstance(record.get("case"), dict) else {}
    kernel = case.get("kernel") if isinstance(case.get("kernel"), dict) else {}
    stage = record.get("stage")
    place = STAGES.index(stage) if stage in STAGES else 9
    return place, str(case.get("id")), str(kernel.get("id")), str(kernel.get("variant"))


def _redigest(records: Lines) -> None:
    for record in records:
        record.pop("digest", None)
        record["digest"] = digest_of(record)


def _rekeyed(header: dict[str, Any], kind: str) -> dict[str, str]:
    """Key each object by the digest of what it holds now; which id became which."""
    held = _held(header, kind)
    moved = {old: digest_of(value)[:16] for old, value in held.items()}
    if held:
        header[kind] = {moved[old]: value for old, value in held.items()}
    return moved


def _held(header: dict[str, Any], kind: str) -> dict[str, Any]:
    held = header.get(kind)
    return held if isinstance(held, dict) else {}


def _receipt(record: dict[str, Any], old: str, new: str) -> None:
    if record.get("receipt") == old:
        record["receipt"] = new


def _reference(record: dict[str, Any], old: str, new: str) -> None:
    if record.get("oracle_reference") == old:
        record["oracle_reference"] = new


def _certified_receipt(certificate: Any, header: dict[str, Any], old: str, new: str) -> None:
    if old != new and isinstance(certificate, dict) and str(certificate.get("receipt"))[:16] == old:
        certificate["receipt"] = digest_of(header["receipts"][new])


def _recount(header: dict[str, Any], records: Lines, touched: Path) -> None:
    for name, requirement in _held(header, "requirements").items():
        if isinstance(requirement, dict) and touched[:2] != ("requirements", name):
            mine = [record for record in records if record.get("requirement") == name]
            ids = [record["case"].get("id") for record in mine if isinstance(record.get("case"), dict)]
            requirement["case_count"] = len(ids)
            requirement["cases_digest"] = digest_of(sorted(map(str, ids)))


def _recertify(header: dict[str, Any], records: Lines, touched: Path) -> None:
    for name, certificate in _held(header, "certificates").items():
        if isinstance(certificate, dict) and touched != ("certificates", name, "evidence_digest"):
            where = (certificate.get("plan"), certificate.get("subject"))
            mine = [
                record["digest"]
                for record in records
                if record.get("stage") == "oracle"
                and isinstance(record.get("case"), dict)
                and (record["case"].get("plan"), record["case"].get("subject")) == where
            ]
            certificate["evidence_digest"] = digest_of(mine)
    moved = _rekeyed(header, "certificates")
    for record in records:
        if isinstance(record.get("certificates"), list):
            names = [moved.get(name, name) if isinstance(name, str) else name for name in record["certificates"]]
            in_order = names == record["certificates"] or all(isinstance(name, str) for name in names)
            record["certificates"] = sorted(names) if in_order and names != record["certificates"] else names
