"""The notebook and the code blocks of the documentation, run against a service."""

from __future__ import annotations

from typing import Any

import httpx
import nbformat
import pytest
from nbclient import NotebookClient

import sotto

from .pages import ROOT, blocks_of

NOTEBOOK = ROOT / "examples/first-hour.ipynb"


def read_notebook() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]


def cells_of_code() -> list[Any]:
    return [cell for cell in read_notebook().cells if cell.cell_type == "code"]


def test_the_notebook_has_no_outputs() -> None:
    assert len(cells_of_code()) > 10
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells_of_code())


def test_the_notebook_runs(custodian: httpx.Client) -> None:
    notebook = read_notebook()
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    rich = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any("<svg" in html for html in rich)
    assert any("<table" in html for html in rich)


def test_the_code_blocks_of_the_guide_run(url: str, custodian: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    # The blocks build on each other, as on the page. They end with expressions, which a notebook would show.
    monkeypatch.chdir(ROOT)
    scope: dict[str, Any] = {}
    blocks = blocks_of("docs/python.md", "python")
    assert len(blocks) > 10
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), scope)


def test_the_guide_lists_every_method() -> None:
    guide = (ROOT / "docs/python.md").read_text()
    for kind in (sotto.Client, sotto.Dataset):
        for name in vars(kind):
            if not name.startswith("_"):
                assert f"`{name}(" in guide or f"`.{name}(" in guide or f"`{name}`" in guide, name
