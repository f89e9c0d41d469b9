"""Runs the Python of docs/gpu.md, in its order, on a GPU where there is one and on PyTorch's CPU where there is none.

python docs/_ext/device_blocks.py docs/gpu.md
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from code_blocks import blocks_for

__all__ = ["run_page"]


def run_page(page: Path, device: str) -> int:
    """Run all blocks of a page in one namespace, in a folder that is gone at the end; return how many there are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    names = np.array(["cat", "dog", "heron"])[rng.integers(0, 3, 200)]
    given: dict[str, object] = {"X": X, "y": X[:, 0] > 0, "x": X[0]}
    blocks = [block.text for block in blocks_for("docs/_ext/device_blocks.py", page)]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for block in blocks:
            if "classes=" in block:
                given["y"] = names
            exec(compile(block.replace('"cuda"', f'"{device}"'), page.name, "exec"), given)
        os.chdir(page.parent)
    return len(blocks)


if __name__ == "__main__":
    try:
        import torch
    except ModuleNotFoundError:
        sys.exit(print("PyTorch is not here, so the blocks of docs/gpu.md were not run: pip install '.[torch]'"))
    place = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"{run_page(Path(sys.argv[1]).resolve(), place)} blocks of {sys.argv[1]} ran on {place}")
