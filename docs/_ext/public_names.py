"""Writes the pages of the reference: every name that a public module exports, by its `__all__`."""

import importlib
import inspect
from pathlib import Path
from types import GenericAlias
from typing import Any

__all__ = ["MODULES", "write_reference"]

# module: what its page is called, and the sentence under the heading
MODULES = {
    "aioli": ("Learners", "What ``import aioli`` gives: learners, certificates, announcements and explanations."),
    "aioli.sklearn": ("scikit-learn", "A classifier for pipelines, searches and displays."),
    "aioli.river": ("River", "A classifier for River's pipelines, metrics and drift detectors."),
    "aioli.plot": ("Plots", "Pictures of a run for a notebook, in scikit-learn's convention of displays."),
    "aioli.onnx": ("ONNX", "A learner as an ONNX graph, for any runtime."),
    "aioli.mlflow": ("MLflow", "A learner as an MLflow model, with its certificate as a metric."),
    "aioli.engines.shards": ("Shards", "One model that copies of it learn apart, over processes or machines."),
    "aioli.engines.spark_model": ("Spark: one model", "One model over a DataFrame of PySpark 4."),
    "aioli.engines.spark_frames": ("Spark: scoring", "The probabilities of any learner as a column of a DataFrame."),
    "aioli.engines.spark": ("Spark: one model a key", "One model a key over a stream of PySpark 4."),
    "aioli.engines.kafka": ("Kafka", "One model a key between topics of rows, labels and predictions."),
    "aioli.service.client": ("The service's clients", "Calls to ``aioli serve`` that may be repeated."),
    "aioli.learners.protocol": ("Capabilities", "What every learner does, and questions about what some can do."),
    "aioli.evaluate.progressive": ("Scoring a stream", "Predict, score, then learn, over blocks of rows."),
    "aioli.snapshots.tree": ("Snapshots", "The state of anything that remembers, as a tree of arrays and values."),
    "aioli.errors": ("Errors", "Everything that aioli refuses, as data."),
}


def write_reference(folder: Path) -> list[str]:
    """Write one page a public module, with a summary table, into a folder; return the paths of the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    pages, listed = [], set()
    for name, (title, sentence) in MODULES.items():
        module = importlib.import_module(name)
        groups = _groups(module)
        tables = "".join(_table(heading, names) for heading, names in groups.items()) + _types(module)
        listed |= {f"{name}.{member}.rst" for names in groups.values() for member in names}
        page = f"{title}\n{'=' * len(title)}\n\n{sentence}\n\n.. currentmodule:: {name}\n{tables}"
        pages.append(folder / f"{name.replace('.', '_')}.rst")
        write_if_changed(pages[-1], page)
    for made in folder.glob("aioli.*.rst"):  # by an earlier build, of a name that is public no more
        if made.name not in listed:
            made.unlink()
    return [str(page) for page in pages]


def write_if_changed(path: Path, text: str) -> None:
    """Write a file unless it holds this text already: Sphinx reads again what is newer than its last build."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _groups(module: object) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {"Classes": [], "Functions": [], "Values": []}
    for name in module.__all__:
        member = getattr(module, name)
        if _is_alias(member) or getattr(member, "__module__", None) in {*MODULES} - {module.__name__}:
            continue  # written out below, or documented where it comes from
        kind = "Classes" if inspect.isclass(member) else "Functions" if callable(member) else "Values"
        groups[kind].append(name)
    return groups


def _table(heading: str, names: list[str]) -> str:
    if not names:
        return ""
    template = "   :template: class.rst\n" if heading == "Classes" else ""
    listed = "\n".join(f"   {name}" for name in names)
    return f"\n{heading}\n{'-' * len(heading)}\n\n.. autosummary::\n   :toctree: .\n{template}\n{listed}\n"


def _types(module: object) -> str:
    """Return other names for types as they stand: `tuple[…]` looks like a function to Sphinx, and is none."""
    names = [name for name in module.__all__ if _is_alias(getattr(module, name))]
    entries = "".join(f"\n``{name}``\n   ``{getattr(module, name)}``\n" for name in names)
    return f"\nTypes\n-----\n{entries}" if names else ""


def _is_alias(member: object) -> bool:
    return member is Any or isinstance(member, GenericAlias)
