"""Rows a second of `AIOLI` and `Auto` on a GPU, on embeddings, beside the CPU and the peers that are installed.

    python -m benchmarks.gpu                        # 1,024 to 32,768 columns
    python -m benchmarks.gpu --device cpu --columns 64 --rows 2000

The rows are drawn at random on the device; "from NumPy" brings them up from the CPU's memory, in float32 as embeddings
mostly are.
"""

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable

import numpy as np

from aioli import AIOLI, Auto
from aioli.learners.auto.device_auto import DeviceAuto
from aioli.learners.classes.device_class_aioli import DeviceClassAIOLI
from aioli.learners.device_aioli import DeviceAIOLI
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.pytorch import Tensor, pytorch
from benchmarks.peers import river_rows

ROWS = {1024: 131_072, 4096: 65_536, 16_384: 16_384, 32_768: 8_192}
SLOWER = 64  # the CPU and the peers play one row of so many


def draw(device: str, rows: int, columns: int) -> tuple[Tensor, Vector]:
    """Return rows on the device, of length about 1, and labels that follow a linear law."""
    torch = pytorch()
    generator = torch.Generator(device=device).manual_seed(0)
    numbers = {"dtype": torch.float64, "device": device, "generator": generator}
    X = torch.randn((rows, columns), **numbers) / columns**0.5
    X = X.float().double()  # so that float32 is the same game
    theta = 2.0 * torch.randn(columns, **numbers)
    y = torch.rand(rows, **numbers) < torch.sigmoid(X @ theta)
    return X, y.double().cpu().numpy()


def seconds(play: Callable[[], object], device: str) -> float:
    """Return how long it takes, the device's work included."""
    torch = pytorch()
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    wait()
    start = time.perf_counter()
    play()
    wait()
    return time.perf_counter() - start


def on_device(X: Tensor, y: Vector, device: str, warm: int) -> tuple[float, Vector]:
    """Return rows a second of a learner that has played a few rows before, and what it announced."""
    learner = AIOLI(intercept=False, device=device)
    assert isinstance(learner, DeviceAIOLI)
    announced = [learner.learn_many(X[:warm], y[:warm])]
    taken = seconds(lambda: announced.append(learner.learn_many(X[warm:], y[warm:])), device)
    return (len(y) - warm) / taken, np.concatenate(announced)


def of_auto(X: Tensor | Matrix, y: Vector, device: str, warm: int) -> tuple[float, int]:
    """Return rows a second of `Auto` after a few rows, and how many experts played them from the beginning."""
    learner = Auto(device=device)
    assert isinstance(learner, DeviceAuto)
    learner.learn_many(X[:warm], y[:warm])
    experts = len(learner.playing)
    return (len(y) - warm) / seconds(lambda: learner.learn_many(X[warm:], y[warm:]), device), experts


def of_classes(X: Tensor, classes: int, device: str, warm: int) -> float:
    """Return rows a second of so many classes that share one matrix, their labels drawn from a softmax."""
    torch = pytorch()
    generator = torch.Generator(device=device).manual_seed(1)
    theta = torch.randn((X.shape[1], classes), dtype=torch.float64, device=device, generator=generator)
    y = torch.multinomial(torch.softmax(2.0 * X @ theta, dim=1), 1, generator=generator)[:, 0].cpu().numpy()
    learner = AIOLI(intercept=False, classes=range(classes), device=device)
    assert isinstance(learner, DeviceClassAIOLI)
    learner.learn_many(X[:warm], y[:warm])
    return (len(y) - warm) / seconds(lambda: learner.learn_many(X[warm:], y[warm:]), device)


def of_peers(X: Matrix, y: Vector) -> list[str]:
    """Return a line of each peer, which plays a few rows one by one, as a stream gives them; or that it is missing."""
    lines = []
    if importlib.util.find_spec("sklearn"):
        model = importlib.import_module("sklearn.linear_model").SGDClassifier(loss="log_loss")
        model.partial_fit(X[:1], y[:1], classes=[0, 1])

        def play() -> None:
            for t in range(1, len(y)):
                model.predict_proba(X[t : t + 1])
                model.partial_fit(X[t : t + 1], y[t : t + 1])

        rate = (len(y) - 1) / seconds(play, "cpu")
        lines.append(_line(f"scikit-learn SGD, {len(y):,} rows", rate, "partial_fit row by row"))
    else:
        lines.append("scikit-learn is not installed (pip install scikit-learn)")
    if importlib.util.find_spec("river"):
        few = max(len(y) // (X.shape[1] // 256 + 1), 16)  # a row is a dictionary there: fewer rows where they are wide
        make = importlib.import_module("river.linear_model").LogisticRegression
        play_river = river_rows(X[:few], y[:few].astype(bool).tolist(), make)()
        rate = few / seconds(play_river, "cpu")
        lines.append(_line(f"River LogisticRegression, {few}", rate, "learn_one row by row"))
    else:
        lines.append("River is not installed (pip install river)")
    return lines


def _line(name: str, rate: float, note: str) -> str:
    """Return a line of the table: who plays, rows a second, and how."""
    return f"{name:<28} {rate:>12,.0f}   {note}"


def beside(plain: Matrix, y: Vector, announced: Vector, widest: int) -> None:
    """Print what this machine's CPU does with the first rows: `AIOLI` up to so many columns, and the peers."""
    columns = plain.shape[1]
    few = max(len(y) // SLOWER, 128)
    small = plain[:few].astype(np.float64)
    if columns <= widest:
        learner = AIOLI(intercept=False)
        here: list[Vector] = []
        taken = seconds(lambda: here.append(learner.learn_many(small, y[:few])), "cpu")
        apart = np.abs(here[0] - announced[:few]).max()
        line = _line(f"AIOLI on the CPU, {few:,} rows", few / taken, f"differs by {apart:.0e}")
        print(f"  {line}", flush=True)
    else:
        print(f"  AIOLI on the CPU: not played beyond {widest:,} columns (--widest-on-cpu)")
    for line in of_peers(small, y[:few]):
        print(f"  {line}", flush=True)


def main() -> None:
    """Print a table of rows a second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--columns", type=int, nargs="*", default=list(ROWS))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--classes", type=int, nargs="*", default=[10, 100])
    parser.add_argument("--widest-on-cpu", type=int, default=4096, help="the CPU plays up to so many columns")
    given = parser.parse_args()
    torch = pytorch()
    name = torch.cuda.get_device_name(given.device) if given.device.startswith("cuda") else "the CPU"
    print(f"AIOLI on {name}, PyTorch {torch.__version__}, float64; rows a second")
    for columns in given.columns:
        rows = given.rows or ROWS.get(columns, 16_384)
        warm = min(rows // 4, 3072)
        X, y = draw(given.device, rows, columns)
        print(f"\n{columns:,} columns, {rows:,} rows")
        rate, announced = on_device(X, y, given.device, warm)
        flops = 4e-12 * columns**2 * rate
        print(f"  rows on the device           {rate:>12,.0f}   {flops:.1f} TFLOP/s, counting 4d² a row")
        plain = X.float().cpu().numpy()
        rate, brought = on_device(plain, y, given.device, warm)
        print(f"  rows from NumPy, float32     {rate:>12,.0f}   differs by {np.abs(brought - announced).max():.0e}")
        part = slice(0, warm + max((rows - warm) // 4, 2048))
        rate, experts = of_auto(X[part], y[part], given.device, warm)
        print(f"  Auto, {experts} experts              {rate:>12,.0f}")
        rate, _ = of_auto(plain[part], y[part], given.device, warm)
        print(f"  Auto, rows from NumPy        {rate:>12,.0f}")
        for classes in given.classes:
            rate = of_classes(X[part], classes, given.device, warm)
            print(f"  {classes:>4} classes, one matrix     {rate:>12,.0f}")
        del X
        beside(plain, y, announced, given.widest_on_cpu)


if __name__ == "__main__":
    main()
