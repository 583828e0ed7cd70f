"""The notebooks run from the first cell to the last."""

import importlib.util
import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

# What each notebook prints.
EXPECTED = {
    "identify": ["the same product in every bit: True", "NumPy: "],
    "quantise": ["mse is the best rule: True", "quantisation loses more than the instruction: True"],
}
NOTEBOOKS = sorted((pathlib.Path(__file__).parents[1] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    client.execute()
    printed = "".join(
        output.get("text", "") for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    )
    for words in EXPECTED[path.stem]:
        assert words in printed
    if path.stem != "identify":
        return
    if importlib.util.find_spec("torch") is None:
        assert "PyTorch is not installed: this cell is skipped" in printed
    else:
        assert "agrees with everything: True" in printed and "PyTorch: " in printed
