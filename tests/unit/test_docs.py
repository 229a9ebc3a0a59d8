"""The docs say what is so: generated pages are current, links lead somewhere, commands and options exist."""

from __future__ import annotations

import ast
import configparser
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from itertools import chain
from pathlib import Path
from types import ModuleType

import click
import pytest

import pytest_kernelverify as kv
from pytest_kernelverify.evidence.policy import POLICIES
from pytest_kernelverify.evidence.record import Outcome
from pytest_kernelverify.operations.facts import _VALUES as FACT_VALUES

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = (
    "python3 -m venv .venv && . .venv/bin/activate && pip install -c constraints.txt ."
    " && pytest --kv-target=cpu-compiled --kv-report=report.jsonl",
    "python3 -m venv .venv && . .venv/bin/activate && pip install -c constraints.txt '.[test]' && pytest",
)


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernelverify_docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _fences(text: str) -> list[tuple[str, str]]:
    """Language and body of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["operations.md", "api.md"])
def test_generated_pages_are_what_the_package_says(page: str) -> None:
    current = _generator().PAGES[page]()
    assert _text(f"docs/{page}") == current, f"docs/{page} is stale; run: python docs/generate.py"


def test_the_api_page_documents_exactly_the_public_names() -> None:
    documented = re.findall(r"^### (\w+)$", _text("docs/api.md"), re.MULTILINE)
    assert sorted(documented) == list(kv.__all__)


def test_every_public_name_has_a_docstring() -> None:
    silent = [name for name in kv.__all__ if not _generator()._first_sentence(getattr(kv, name))]
    assert not silent


def test_the_operations_page_would_show_a_changed_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = _generator()
    monkeypatch.setattr(generator, "manifest_of", lambda profile: _without_first_plan(profile))
    assert _text("docs/operations.md") != generator.operations()


def _without_first_plan(profile: kv.VerificationProfile) -> object:
    import dataclasses

    from pytest_kernelverify.catalog.load import manifest_of

    manifest = manifest_of(profile)
    return dataclasses.replace(manifest, plans=manifest.plans[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_docs_is_python(page: Path) -> None:
    for language, body in _fences(page.read_text(encoding="utf-8")):
        if language == "python" and page.name != "api.md":
            ast.parse(body)
        if language == "toml":
            tomllib.loads(body)


def test_the_readme_shows_the_two_commands_that_ci_runs() -> None:
    lines = [line for line in _text("README.md").splitlines() if line.startswith("python3 -m venv ")]
    assert tuple(lines) == COMMANDS


def test_ci_runs_the_commands_of_the_readme_itself() -> None:
    script = _text(".ci/run")
    assert "run_readme 1" in script
    assert "run_readme 2" in script
    assert not any(command in script for command in COMMANDS), "a copy of the command would hide a wrong README"


def _readme_example(command: str) -> list[str]:
    """The lines the README shows below a command, without the gaps."""
    [body] = [body for _, body in _fences(_text("README.md")) if body.startswith(f"$ {command}\n")]
    return [_timeless(line) for line in body.splitlines()[1:] if line != "[…]"]


def _timeless(line: str) -> str:
    # An editable install draws a warning about itself; how long a run took is its own affair.
    return re.sub(r"(, \d+ warnings?)|( in \d+\.\d+s( \(.*?\))?)", "", line).strip("= ")


def _assert_shown_in_order(shown: list[str], output: str) -> None:
    printed = iter([_timeless(line) for line in output.splitlines()])
    missing = [line for line in shown if not any(line == other for other in printed)]
    assert not missing, f"not printed, or not in this order: {missing}\n{output}"


def _as_typed(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run as from a terminal 80 columns wide, without what the running pytest has put into the environment."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**clean, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.sweep
def test_the_failing_example_of_the_readme_is_what_its_run_prints(tmp_path: Path) -> None:
    done = _as_typed([str(ROOT / "examples" / "planted_fault.py"), str(tmp_path)], tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    _assert_shown_in_order(_readme_example("python examples/planted_fault.py"), done.stdout)


@pytest.mark.sweep
def test_the_passing_example_of_the_readme_is_what_its_run_prints(tmp_path: Path) -> None:
    command = "pytest --kv-target=cpu-compiled --kv-report=report.jsonl"
    done = _as_typed(["-m", *command.split()], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    _assert_shown_in_order(_readme_example(command), done.stdout)


def _options(text: str) -> set[str]:
    return set(re.findall(r"--kv-[a-z]+", text))


def test_the_quickstart_names_every_option_and_no_other(pytestconfig: pytest.Config) -> None:
    from pytest_kernelverify.session.options import add_options

    parser = pytest.Parser(_ispytest=True)
    add_options(parser)
    known = {name for group in parser._groups for option in group.options for name in option.names()}
    named = set().union(*(_options(page.read_text(encoding="utf-8")) for page in PAGES))
    assert named <= known
    assert known <= _options(_text("docs/quickstart.md"))


def _command_lines() -> list[tuple[str, str]]:
    return [
        (page.name, line.partition("#")[0].strip())
        for page in PAGES
        for language, body in _fences(page.read_text(encoding="utf-8"))
        for line in body.splitlines()
        if line.startswith("kernelverify ")
    ]


@pytest.mark.parametrize(("page", "line"), sorted(set(_command_lines())))
def test_kernelverify_commands_in_the_docs_exist(page: str, line: str) -> None:
    from pytest_kernelverify.cli import kernelverify

    command: click.Command = kernelverify
    words = shlex.split(line)[1:]
    context = click.Context(command)
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        if found is None:
            break
        command, words = found, words[1:]
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("--")}
    assert not isinstance(command, click.Group) or command.invoke_without_command, line
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options, line


def test_how_it_decides_names_every_policy_class_outcome_and_fact() -> None:
    page = _text("docs/how-it-decides.md")
    names = [*POLICIES, *(found.value for found in kv.VerificationClass), *(found.value for found in Outcome)]
    assert [name for name in names if f"`{name}`" not in page] == []
    for fact, values in FACT_VALUES.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{fact}` |"))
        assert re.findall(r"`(\w+)`", row) == [fact, *values]


def test_how_it_decides_states_the_facts_that_cpu_compiled_declares() -> None:
    page = _text("docs/how-it-decides.md")
    for fact, value in kv.verification_profile("cpu-compiled").facts.to_json().items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{fact}` |"))
        assert row.split("|")[3].strip().replace(" ", "_").startswith(value)


def test_deferred_verification_domains_remain_explicit() -> None:
    page = _text("docs/how-it-decides.md").partition("## What is deferred, explicitly")[2].lower()
    for domain in (
        "vendor-transcendental",
        "floating `pow`",
        "autograd certification",
        "confidence ranking",
        "autotuning",
        "unsupported compilation providers",
        "ci integration",
    ):
        assert domain in page, domain


def test_every_benchmark_script_stands_in_the_benchmarks_page() -> None:
    page = _text("docs/benchmarks.md")
    scripts = {path.name for path in (ROOT / "benchmarks").glob("*.py")}
    assert {name for name in scripts if f"benchmarks/{name}" not in page} == set()
    assert set(re.findall(r"benchmarks/(\w+\.py)", page)) <= scripts


def test_constraints_pin_everything_the_project_asks_for() -> None:
    pinned = {_normal(line.partition("==")[0]) for line in _text("constraints.txt").splitlines() if "==" in line}
    project = tomllib.loads(_text("pyproject.toml"))["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    names = {_normal(re.split(r"[<>=!~\[; ]", requirement)[0]) for requirement in asked}
    # Environments bring their own setuptools; pinning it would pin the one that builds others' packages too.
    assert names - pinned <= {"setuptools"}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def test_every_tox_environment_says_what_it_is_for() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini")
    silent = [name for name in parser.sections() if name.startswith("testenv") and "description" not in parser[name]]
    assert not silent


def test_the_workflow_pins_each_action_and_grants_nothing_by_default() -> None:
    workflow = _text(".github/workflows/ci.yml")
    used = re.findall(r"uses: (\S+)", workflow)
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []
    assert re.search(r"^permissions: \{\}$", workflow, re.MULTILINE)


def test_the_workflow_gate_waits_for_every_other_job() -> None:
    workflow = _text(".github/workflows/ci.yml")
    jobs = re.findall(r"^  ([\w-]+):$", workflow.partition("\njobs:\n")[2], re.MULTILINE)
    needs = re.search(r"needs: \[(.*)\]", workflow)
    assert needs is not None
    assert needs[1].split(", ") == [job for job in jobs if job != "all-green"]
    assert '"' + " ".join(["success"] * (len(jobs) - 1)) + '"' in workflow


def test_the_changelog_has_the_version_of_the_package() -> None:
    version = tomllib.loads(_text("pyproject.toml"))["project"]["version"]
    assert kv.__version__ == version
    assert f"## [{version}]" in _text("CHANGELOG.md")
