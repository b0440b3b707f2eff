"""The code of docs/python.md runs."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def test_code_of_the_manual_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    names = {}
    for block in blocks:
        exec(block, names)
    output = capsys.readouterr().out
    assert "albedo" in output and "relmse" in output and "empty" in output
