"""--kv-html: the same evidence as one page, beside the report or alone."""

from __future__ import annotations


def test_the_page_is_written_beside_the_report(project):
    result = project.verify("--kv-html=page.html", "-k", "test_oracle and sqrt")
    assert result.ret == 0
    page = (project.path / "page.html").read_text(encoding="utf-8")
    assert "The gate passed." in page
    assert "cpu.sqrt" in page
    result.stdout.fnmatch_lines(["page: page.html"])


def test_the_page_can_be_written_alone(plain):
    result = plain.run("--kv-target=cpu-compiled", "--kv-html=page.html", "-k", "test_oracle and sqrt")
    assert result.ret == 0
    assert "cpu.sqrt" in (plain.path / "page.html").read_text(encoding="utf-8")
    assert not list(plain.path.glob("*.jsonl*"))


def test_a_page_in_a_missing_folder_or_over_the_report_is_refused(plain):
    for given, why in (
        (["--kv-html=missing/page.html"], "--kv-html: cannot write"),
        (["--kv-html=one", "--kv-report=one"], "is the report's path too"),
    ):
        result = plain.run("--kv-target=cpu-compiled", *given)
        assert result.ret == 4
        assert any(why in line for line in result.errlines)
        assert not list(plain.path.glob("one*"))
