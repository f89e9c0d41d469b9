"""`aioli run --guest`: a model of another library plays beside Auto's experts."""

import json
from pathlib import Path

import numpy as np
import pytest

from aioli.cli import main
from aioli.numerics.compiling import Matrix, Vector

# σ(4a - 4b) of the columns a and b, as ONNX: a product with (4, -4), then a sigmoid
MODEL = bytes.fromhex(
    "08083a6c0a110a01580a015712015a22064d61744d756c0a0f0a015a12017022075369676d6f6964120b74776f5f636f6c756d6e732a13"
    "080208011001220800008040000080c04201575a110a0158120c0a0a080112060a000a02080262110a0170120c0a0a080112060a000a02"
    "080142040a00100d"
)


class Knowing:
    """Know the law of the labels."""

    def fit(self, X: Matrix, y: Vector) -> "Knowing":  # noqa: ARG002  (an estimator's signature)
        """Learn nothing."""
        return self

    def predict_proba(self, X: Matrix) -> Matrix:
        """Return the law's probabilities."""
        p = 1.0 / (1.0 + np.exp(-4.0 * (X[:, 0] - X[:, 1])))
        return np.column_stack([1.0 - p, p])


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = 4.0 * (X[:, 0] - X[:, 1]) + rng.logistic(size=120) > 0.0
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "\n".join(f"{a:.5f},{b:.5f},{int(t)}" for (a, b), t in zip(X, y, strict=True)) + "\n")
    return path


def loss_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> float:
    assert main(["run", *arguments, "--label", "y", "--json", "--no-regret"]) == 0
    return float(json.loads(capsys.readouterr().out)["log_loss"])


def test_guests_of_both_kinds_of_files_are_heard(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joblib = pytest.importorskip("joblib")
    pytest.importorskip("onnxruntime")
    alone = loss_of(capsys, str(rows))
    (tmp_path / "law.onnx").write_bytes(MODEL)
    joblib.dump(Knowing(), tmp_path / "law.joblib")
    heard = loss_of(capsys, str(rows), "--guest", str(tmp_path / "law.onnx"))
    trusted = loss_of(capsys, str(rows), "--guest", str(tmp_path / "law.joblib"), "--trust")
    assert heard < 0.97 * alone
    assert abs(heard - trusted) < 1e-4  # the same law, in single precision


def test_code_is_loaded_only_where_it_is_trusted(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "law.joblib").write_bytes(b"whatever it is, it is not loaded")
    assert main(["run", str(rows), "--label", "y", "--guest", str(tmp_path / "law.joblib")]) != 0
    told = capsys.readouterr().err
    assert "runs code of whoever made it" in told
    assert "--trust" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--guest", "law.bin"], "neither a .joblib nor an .onnx file"),
        (["--guest", "nowhere.onnx"], "there is no such file"),
        (["--guest", "law.onnx", "--save", "model.aioli"], "leave out --model, --by, --save and --checkpoint"),
        (["--guest", "rows.onnx"], "is no ONNX model"),
        (["--guest", "law.onnx", "--learner", "AIOLI"], "--guest takes a seat in Auto"),
    ],
)
def test_what_cannot_be_a_guest_is_refused_in_a_sentence(
    arguments: list[str],
    told: str,
    rows: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "no ONNX" in told or "a seat" in told:
        pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "law.onnx").write_bytes(MODEL)
    (tmp_path / "rows.onnx").write_text("no model")
    assert main(["run", str(rows), "--label", "y", *arguments]) != 0
    assert told in capsys.readouterr().err
