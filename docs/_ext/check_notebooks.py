"""Checks that every example is a notebook too, with the very code that the build has run.

python docs/_ext/check_notebooks.py examples docs/gallery
"""

import json
import sys
from pathlib import Path

from sphinx_gallery.py_source_parser import remove_config_comments, split_code_and_text_blocks

__all__ = ["check_notebooks"]


def check_notebooks(examples: Path, gallery: Path) -> list[str]:
    """Return one sentence for every example whose notebook is missing or holds other code."""
    faults = []
    for script in sorted(examples.glob("plot_*.py")):
        notebook = gallery / f"{script.stem}.ipynb"
        if not notebook.exists():
            faults.append(f"{script.name} has no notebook")
        elif _code_of_notebook(notebook) != _code_of_script(script):
            faults.append(f"{notebook.name} holds other code than {script.name}")
    return faults


def _code_of_script(path: Path) -> list[str]:
    _, blocks = split_code_and_text_blocks(str(path))
    return [remove_config_comments(block.content).strip() for block in blocks if block.type == "code"]


def _code_of_notebook(path: Path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]).strip() for cell in cells if cell["cell_type"] == "code"]
    return code[1:] if code and code[0].endswith("%matplotlib inline") else code


if __name__ == "__main__":
    found = check_notebooks(*map(Path, sys.argv[1:3]))
    print("\n".join(found) or "every example is a notebook too, with the same code")
    sys.exit(bool(found))
