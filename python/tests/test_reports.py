"""Reports as objects."""

import pytest

import tcnum


def test_a_report_is_rows_a_text_and_html():
    report = tcnum.command("formats", "e4m3")
    assert report.holds and report.command == "formats"
    rows = report.to_dict()["tables"]
    assert set(rows) == set(report.tables)
    row = report["formats"][0]
    assert row["format"] == "e4m3" and report["formats"]["format"] == ["e4m3"]
    assert "448" in str(report) and report._repr_html_().count("<table>") == len(report.tables)


def test_what_comes_from_elsewhere_is_escaped():
    def f(a, b, c):
        return c

    hostile = tcnum.device(f, name="<script>alert(1)</script>")
    report = tcnum.verify(hostile, "hopper", instr="mma.m16n8k8.f32.f16.f16.f32", cases=1000)
    assert not report.holds and "<script>" not in report._repr_html_()
    from tcnum._reports import Report

    made = {
        "command": "x", "invocation": "", "device": None, "answer": "<u>", "seed": None, "notes": ["<b>&"], "holds": False, "verdict": "they differ", "text": "",
        "tables": [{"key": "t", "title": "<i>", "brief": False, "rows": [["<a>", 1.5]], "columns": [
            {"key": "k", "meaning": '"<m>', "heading": "<h>", "unit": "", "essential": True, "shown": "everywhere"},
            {"key": "v", "meaning": "", "heading": "v", "unit": "s", "essential": True, "shown": "filled"}]}],
    }
    html = Report(made)._repr_html_()
    assert not any(tag in html for tag in ("<b>&", "<u>", "<i>", "<a>", "<h>", '"<m>'))


def test_tables_go_to_pandas():
    pandas = pytest.importorskip("pandas")
    frame = tcnum.instructions("wgmma").to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) > 10 and "instruction" in frame.columns


def test_a_report_is_written_where_out_says(tmp_path):
    file = tmp_path / "formats.json"
    report = tcnum.command("formats", "e4m3", output="json", out=file, note="machine=mine")
    import json

    assert json.loads(file.read_text())["annotations"] == {"machine": "mine"}
    assert report.holds
