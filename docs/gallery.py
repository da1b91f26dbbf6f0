"""Executes the notebooks of `docs/gallery/` and makes a page of each, with what its cells show.

A notebook is written as Markdown, its cells as blocks of Python; the page and the file for Jupyter
are made from it. So what the page shows is what this version gives.
"""

import os
import re
import tempfile
from base64 import b64decode
from pathlib import Path
from unittest.mock import patch

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

# of the greatest cell, s
PATIENCE_S = 120


def write(docs: Path, folder: Path) -> None:
    """Write a page and a notebook for each source, into a folder of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in sorted((docs / "gallery").glob("*.md")):
        notebook = executed(source.read_text(), docs.parent)
        nbformat.write(notebook, folder / f"{source.stem}.ipynb")
        parts = [part for cell in notebook.cells for part in _shown(cell, folder, source.stem)]
        parts.append(f"{{download}}`This page as a notebook <{source.stem}.ipynb>`")
        (folder / f"{source.stem}.md").write_text("\n\n".join(parts) + "\n")


def executed(text: str, root: Path) -> NotebookNode:
    """The notebook of a source, after a kernel executed it where the scenarios are.

    Raises:
        CellExecutionError: If a cell fails.
    """
    parts = re.split(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    cells = [
        nbformat.v4.new_code_cell(part.strip())
        if place % 2
        else nbformat.v4.new_markdown_cell(part.strip())
        for place, part in enumerate(parts)
        if part.strip()
    ]
    # names by place: the same file from the same source
    for place, cell in enumerate(cells):
        cell.id = f"cell-{place}"
    notebook = nbformat.v4.new_notebook(cells=cells)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scenarios").symlink_to(root / "scenarios")
        (folder / "runtime").mkdir()
        own = {
            "SLUICE_RUNS": f"{name}/runs",
            # the kernel's files, not the user's
            "JUPYTER_PLATFORM_DIRS": "1",
            "IPYTHONDIR": f"{name}/ipython",
            "JUPYTER_RUNTIME_DIR": f"{name}/runtime",
        }
        with patch.dict(os.environ, own):
            resources = {"metadata": {"path": folder}}
            client = NotebookClient(notebook, timeout=PATIENCE_S, resources=resources)
            # by files of its own, not by ports that others could use
            client.create_kernel_manager()
            client.km.transport = "ipc"
            client.km.ip = f"{name}/runtime/kernel"
            client.execute()
    return notebook


def _shown(cell: NotebookNode, folder: Path, name: str) -> list[str]:
    """A cell and what it shows, as Markdown."""
    if cell.cell_type == "markdown":
        return [cell.source]
    parts = [f"```python\n{cell.source}\n```"]
    for output in cell.outputs:
        data = output.get("data", {})
        if html := data.get("text/html"):
            parts.append(f'````{{raw}} html\n<div class="shown">{html}</div>\n````')
        elif svg := data.get("image/svg+xml"):
            parts.append(f"````{{raw}} html\n{svg}\n````")
        elif png := data.get("image/png"):
            picture = f"{name}-{cell.id}.png"
            (folder / picture).write_bytes(b64decode(png))
            parts.append(
                f"![What the cell above draws; the text around it says how it is read]({picture})"
            )
        else:
            parts.append(f"```text\n{data.get('text/plain') or output.get('text', '')}\n```")
    return parts
