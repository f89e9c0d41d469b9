"""Settings of every run: a process beside others multiplies in one thread; examples have a folder of their own."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

# `make docs` runs these
collect_ignore = ["docs/conf.py", "docs/_ext", "docs/gallery", "docs/reference/api", "examples"]
# examples of what is not installed; a folder of tests of the same name has a specification, but no origin
for library, places in {
    "mlflow": ["src/aioli/mlflow.py", "docs/howto/mlflow.md"],
    "onnx": ["src/aioli/onnx", "docs/howto/onnx.md"],
    "duckdb": ["docs/howto/recipes.md"],
}.items():
    if (found := find_spec(library)) is None or found.origin is None:
        collect_ignore += places


if "PYTEST_XDIST_WORKER" in os.environ:  # there is a process a core already, and threads that wait for a core spin
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")


@pytest.fixture(autouse=True)
def _away_from_the_sources(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
