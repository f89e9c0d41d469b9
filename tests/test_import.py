"""The package itself: what importing it loads, and the names it offers."""

import ast
import os
import subprocess
import sys

import pytest

import aioli

HEAVY = ["numba", "llvmlite", "matplotlib", "pandas", "scipy", "sklearn", "torch", "safetensors", "river"]


def in_a_fresh_interpreter(code: str) -> str:
    """What the code prints in a process of its own, in which every warning is an error."""
    environment = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONHASHSEED": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_importing_aioli_loads_nothing_heavy() -> None:
    loaded = ast.literal_eval(in_a_fresh_interpreter("import sys, aioli; print(sorted(sys.modules))"))
    assert "aioli" in loaded
    assert not {name for name in loaded if name.partition(".")[0] in HEAVY}


def test_asking_for_the_names_and_the_version_loads_nothing_heavy() -> None:
    asked = "dir(aioli); aioli.__version__; aioli.__all__; hasattr(aioli, 'nothing')"
    loaded = ast.literal_eval(in_a_fresh_interpreter(f"import sys, aioli; {asked}; print(sorted(sys.modules))"))
    assert not {name for name in loaded if name.partition(".")[0] in HEAVY}


def test_learning_needs_neither_plots_nor_frames_nor_peers() -> None:
    code = "import sys; from aioli import AIOLI; AIOLI().learn([1.0], 1); print(sorted(sys.modules))"
    loaded = ast.literal_eval(in_a_fresh_interpreter(code))
    assert "numba" in loaded
    assert not {
        name for name in loaded if name.partition(".")[0] in ("matplotlib", "pandas", "sklearn", "torch", "river")
    }


@pytest.mark.parametrize("name", aioli.__all__)
def test_every_public_name_resolves_to_what_bears_it(name: str) -> None:
    value = getattr(aioli, name)
    assert value is getattr(aioli, name)
    assert value.__name__ == name
    assert value.__module__.startswith("aioli.")
    assert value.__doc__


def test_public_names_are_listed_once() -> None:
    assert len(aioli.__all__) == len(set(aioli.__all__))
    assert set(aioli.__all__) <= set(dir(aioli))
    assert "__version__" in dir(aioli)


def test_a_star_import_brings_the_public_names_and_no_others() -> None:
    printed = in_a_fresh_interpreter("from aioli import *; print([name for name in dir() if not name.startswith('_')])")
    assert ast.literal_eval(printed) == sorted(aioli.__all__)


@pytest.mark.parametrize("name", ["nothing", "aioli", "State", "__wrapped__"])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(aioli, name)
    assert not hasattr(aioli, name)


def test_importing_an_unknown_name_is_an_import_error() -> None:
    with pytest.raises(ImportError, match="nothing"):
        exec("from aioli import nothing")
