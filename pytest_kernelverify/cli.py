"""The ``kernelverify`` command. Exit 0: the gate passed; 1: it did not; 2: wrong usage or an unreadable file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pytest_kernelverify import __version__

if TYPE_CHECKING:
    from pytest_kernelverify.report.journal import Journal
    from pytest_kernelverify.report.report import VerificationReport
    from pytest_kernelverify.report.show import Filter

__all__ = ["main"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

STAGES = ("oracle", "target", "ladder", "proof")
CLASSES = ("bit_exact", "exact_arithmetic", "structural", "analytic", "numerical", "deferred")
OUTCOMES = ("passed", "failed", "error", "blocked", "deferred")
MODULE = '''"""Kernel verification: ``pytest --kv-target=NAME`` runs one item for each plan and class."""


def test_oracle(kv_case, kv_oracle):
    kv_case.check(kv_oracle)


def test_target(kv_case, kv_target):
    kv_case.check(kv_target)
'''


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kernelverify")
def kernelverify() -> None:
    """Read verification reports, list profiles, start a project."""


@kernelverify.group()
def report() -> None:
    """Show, check and compare report files."""


def _filters(command: F) -> F:
    for option in (
        click.option("--operation", "operations", multiple=True, help="Only this operation; may be repeated."),
        click.option("--outcome", "outcomes", multiple=True, type=click.Choice(OUTCOMES), help="Only this outcome."),
        click.option("--class", "classes", multiple=True, type=click.Choice(CLASSES), help="Only this class."),
        click.option("--stage", "stages", multiple=True, type=click.Choice(STAGES), help="Only this stage."),
    ):
        command = option(command)
    return command


_files = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))


@report.command()
@_files
@_filters
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file: summary and records.")
def show(files: tuple[Path, ...], as_json: bool, **chosen: tuple[str, ...]) -> int:
    """Show what FILE says: the verdict, a row for each kernel, failures, deferrals.

    The verdict and the exit code are those of the whole file, whatever is filtered. A journal (FILE.partial) is shown
    as an incomplete run, exit 1.
    """
    from pytest_kernelverify.report.journal import Journal
    from pytest_kernelverify.report.show import Filter, show_journal, show_report

    keep, passed = Filter(**chosen), True
    for number, path in enumerate(files):
        found = _read(path)
        if as_json:
            click.echo(_as_json(path, found, keep))
        else:
            if len(files) > 1:
                click.echo(f"{chr(10) if number else ''}{path}")
            click.echo(show_journal(found, keep) if isinstance(found, Journal) else show_report(found, keep))
        passed = passed and not isinstance(found, Journal) and found.summary().gate_passed
    return 0 if passed else 1


@report.command()
@_files
@_filters
def check(files: tuple[Path, ...], **chosen: tuple[str, ...]) -> int:
    """Check FILE strictly and offline: one line a file. With filters, name the number of records they choose."""
    from pytest_kernelverify.report.journal import Journal
    from pytest_kernelverify.report.show import Filter

    keep, passed = Filter(**chosen), True
    for path in files:
        found = _read(path)
        if isinstance(found, Journal):
            verdict, good = "incomplete, the run ended early", False
        else:
            good = found.summary().gate_passed
            verdict = "valid, gate passed" if good else "valid, gate not passed"
        count = sum(keep.keeps(record) for record in found.records)
        click.echo(f"{path}: {verdict}, {count:,} record(s){f' that are {keep.text}' if keep.text else ''}")
        passed = passed and good
    return 0 if passed else 1


@report.command()
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="B", type=click.Path(path_type=Path))
def diff(before: Path, after: Path) -> int:
    """Compare report A with report B: records added, removed, or with another outcome or result."""
    from pytest_kernelverify.report.diff import diff_reports
    from pytest_kernelverify.report.report import VerificationReport

    reports = [_guarded(path, VerificationReport.load) for path in (before, after)]
    found = diff_reports(*reports)
    click.echo("\n".join(found.lines) or "no difference in outcomes and results")
    return 1 if found.lines else 0


@kernelverify.group(invoke_without_command=True)
@click.pass_context
def profiles(context: click.Context) -> None:
    """List the installed profiles, or show one."""
    if context.invoked_subcommand is None:
        from pytest_kernelverify.report.listing import list_profiles

        click.echo(list_profiles())


@profiles.command("show")
@click.argument("name")
def show_profile(name: str) -> int:
    """Show a profile's kernels, plans, classes and reasons."""
    from pytest_kernelverify.report.listing import show_profile as shown

    try:
        click.echo(shown(name))
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    return 0


@kernelverify.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
def init(folder: Path) -> int:
    """Write test_kernels.py, two test functions, into DIR (default: here)."""
    path = folder / "test_kernels.py"
    if not folder.is_dir():
        raise click.ClickException(f"there is no folder {folder}; create it first")
    try:
        with open(path, "x", encoding="utf-8") as stream:
            stream.write(MODULE)
    except FileExistsError:
        raise click.ClickException(f"{path} exists already; it is left as it is") from None
    click.echo(f"wrote {path}; run: pytest {path} --kv-target=cpu-compiled")
    return 0


def _read(path: Path) -> VerificationReport | Journal:
    from pytest_kernelverify.report.journal import is_journal, read_journal
    from pytest_kernelverify.report.report import VerificationReport

    if _guarded(path, is_journal):
        return _guarded(path, read_journal)
    return _guarded(path, VerificationReport.load)


def _guarded(path: Path, read: Callable[[Path], T]) -> T:
    try:
        return read(path)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise click.ClickException(f"{path}: {error}") from None


def _as_json(path: Path, found: VerificationReport | Journal, keep: Filter) -> str:
    from pytest_kernelverify.evidence.canonical import canonical_json
    from pytest_kernelverify.report.report import VerificationReport

    records = [record.to_json() for record in found.records if keep.keeps(record)]
    value: dict[str, Any] = {"file": str(path), "records": records, "complete": False, "summary": None}
    if isinstance(found, VerificationReport):
        value |= {"complete": found.header.complete, "summary": found.summary().to_json()}
    return canonical_json(value)


def main() -> None:
    """The entry point: an error is one line on stderr, never a traceback."""
    try:
        code = kernelverify.main(prog_name="kernelverify", standalone_mode=False)
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # click 8.2: the message is the help
            error.show()
        else:
            click.echo(f"kernelverify: {' '.join(error.format_message().split())}", err=True)
        code = 2
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
