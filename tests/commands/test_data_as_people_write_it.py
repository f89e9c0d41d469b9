"""The same rows written in many ways are the same stream: every probability of the clean twin, bit for bit."""

import contextlib
import csv
import gzip
import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aioli.cli import main
from aioli.streams import blocks
from aioli.streams.files import byte_window

ROWS = 400
HEADER = ["price", "rate", "count", "city", "zip", "when", "y"]
Row = dict[str, Any]


def rows() -> list[Row]:
    """Prices with cents, rates, counts that may be missing, cities with odd letters, codes, moments of a quarter."""
    rng = np.random.default_rng(0)
    cities = ["Malmö", "Nîmes", "O'Fallon", "São Paulo", "Ulm"]
    made = []
    for _ in range(ROWS):
        price = round(float(rng.lognormal(6.0, 1.5)), 2)
        count = None if rng.random() < 0.1 else int(rng.integers(0, 20_000))
        city = int(rng.integers(len(cities)))
        when = datetime(2024, 1, 1, 12, tzinfo=UTC) + timedelta(minutes=int(rng.integers(0, 60 * 24 * 90)))
        rate = round(float(rng.uniform(0, 100)), 1)
        signal = (price > 400) + (rate - 50) / 30 + (city < 2) - 1.0
        made.append(
            {
                "price": price,
                "rate": rate,
                "count": count,
                "city": cities[city],
                "zip": f"{100 + city:05d}",
                "when": when,
                "y": int(rng.random() < 1 / (1 + np.exp(-signal))),
            }
        )
    return made


def plain(row: Row) -> list[str]:
    count = "" if row["count"] is None else str(row["count"])
    return [
        repr(row["price"]),
        repr(row["rate"]),
        count,
        row["city"],
        row["zip"],
        row["when"].isoformat(),
        str(row["y"]),
    ]


def table(
    cells: Callable[[Row], list[str]] = plain, encoding: str = "utf-8", ends: str = "\n", **dialect: Any
) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=ends, **dialect)
    writer.writerows([HEADER, *map(cells, rows())])
    return out.getvalue().encode(encoding)


def dressed(
    price: Callable[[float], str] = repr,
    rate: Callable[[float], str] = repr,
    count: Callable[[int], str] = str,
    missing: str = "",
    when: Callable[[datetime], str] = datetime.isoformat,
) -> Callable[[Row], list[str]]:
    def cells(row: Row) -> list[str]:
        counted = missing if row["count"] is None else count(row["count"])
        moment = when(row["when"])
        return [price(row["price"]), rate(row["rate"]), counted, row["city"], row["zip"], moment, str(row["y"])]

    return cells


def comma(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def local(text: str) -> Callable[[datetime], str]:
    return lambda moment: moment.strftime(text)


SUMMER = timezone(timedelta(hours=2))
WRITTEN = {
    "thousands": table(dressed(price=lambda v: f"{v:,.2f}", count=lambda n: f"{n:,}")),
    "currency": table(dressed(price=lambda v: f"${v:,.2f}")),
    "currency behind": table(dressed(price=lambda v: f"{v:,.2f} USD")),
    "percent": table(dressed(rate=lambda v: f"{v}%")),
    "percent after a space": table(dressed(rate=lambda v: f"{v} %")),
    "decimal comma": table(
        dressed(price=comma, rate=lambda v: str(v).replace(".", ","), count=lambda n: f"{n:,}".replace(",", ".")),
        delimiter=";",
    ),
    "euros": table(dressed(price=lambda v: comma(v) + " €", rate=lambda v: comma(v) + " %"), delimiter=";"),
    "spaces between thousands": table(dressed(price=lambda v: f"{v:,.2f}".replace(",", "\u202f"))),
    "tabs": table(delimiter="\t"),
    "bars": table(delimiter="|"),
    "byte order mark": table(encoding="utf-8-sig"),
    "Latin-1": table(encoding="latin-1"),
    "Windows-1252": table(dressed(price=lambda v: comma(v) + " €"), encoding="cp1252", delimiter=";"),
    "returns": table(ends="\r\n"),
    "all quoted": table(quoting=csv.QUOTE_ALL),
    "day first with points": table(dressed(when=local("%d.%m.%Y %H:%M"))),
    "day first with slashes": table(dressed(when=local("%d/%m/%Y %H:%M:%S"))),
    "month first": table(dressed(when=local("%m/%d/%Y %I:%M %p"))),
    "names of months": table(dressed(when=local("%d %b %Y %H:%M GMT"))),
    "month, day, year": table(dressed(when=local("%B %d, %Y %H:%M"))),
    "the mail's": table(dressed(when=local("%a, %d %b %Y %H:%M:%S +0000"))),
    "another zone": table(dressed(when=lambda moment: moment.astimezone(SUMMER).isoformat(" "))),
    "no zone": table(dressed(when=lambda moment: moment.replace(tzinfo=None).isoformat())),
    "day first in another zone": table(dressed(when=lambda m: m.astimezone(SUMMER).strftime("%d.%m.%Y %H:%M %z"))),
} | {f"missing as {token}": table(dressed(missing=token)) for token in ("NA", "#N/A", "-", "null", "NaN", "?")}


# compiled loops alone: the last digits of companions, which multiply matrices, were seen to differ once
LEARNER = "Auto(budget='fast')"


def announced(path: Path, *options: str) -> list[str]:
    """Every probability as the command writes it. Tables end elsewhere in every format, and blocks do not."""
    out, told = path.with_name("announced.csv"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(told):
        patch.setattr(byte_window, "BLOCK", 1 << 12)
        patch.setattr(blocks, "ROWS", 150)
        asked = ["run", str(path), "--label", "y", "--learner", LEARNER, "--predictions", str(out), "--json"]
        assert main([*asked, *options]) == 0
    summary = json.loads(told.getvalue())
    assert summary["rows"] == ROWS
    assert "unreadable" not in summary
    return [line.split(",")[1] for line in out.read_text().splitlines()[1:]]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("clean") / "clean.csv"
    path.write_bytes(table())
    return announced(path)


@pytest.mark.parametrize("way", list(WRITTEN))
def test_a_table_written_in_another_way_is_the_same(way: str, clean: list[str], tmp_path: Path) -> None:
    path = tmp_path / "written.csv"
    path.write_bytes(WRITTEN[way])
    assert announced(path) == clean


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_a_packed_table_is_the_same(packing: str, clean: list[str], tmp_path: Path) -> None:
    data, path = table(), tmp_path / f"rows.csv.{packing}"
    if packing == "gz":
        path.write_bytes(gzip.compress(data))
    else:
        arrow: Any = pytest.importorskip("pyarrow")
        with arrow.CompressedOutputStream(str(path), "zstd") as out:
            out.write(data)
    assert announced(path) == clean


def test_standard_input_is_the_same(clean: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(table()))))
    monkeypatch.chdir(tmp_path)
    assert announced(Path("-"), "--format", "csv") == clean


@pytest.mark.parametrize("typed", [True, False])
def test_json_lines_are_the_same(typed: bool, clean: list[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    made = [{**row, "when": row["when"].isoformat()} for row in rows()]
    if not typed:
        made = [dict(zip(HEADER, plain(row), strict=True)) for row in rows()]
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    assert announced(path) == clean


@pytest.mark.parametrize("format", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize("typed", [True, False])
def test_parquet_and_arrow_are_the_same(format: str, typed: bool, clean: list[str], tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    strings = [dict(zip(HEADER, plain(row), strict=True)) for row in rows()]
    columns = arrow.Table.from_pylist(rows() if typed else strings)
    path = tmp_path / f"rows.{format}"
    if format == "parquet":
        parquet.write_table(columns, path, row_group_size=90)
    else:
        writer = arrow.ipc.new_file if format == "arrow" else arrow.ipc.new_stream
        with writer(str(path), columns.schema) as out:
            out.write_table(columns, max_chunksize=90)
    assert announced(path) == clean


def test_the_order_of_columns_changes_nothing(clean: list[str], tmp_path: Path) -> None:
    path = tmp_path / "turned.csv"
    lines = [[cells[k] for k in (5, 2, 6, 0, 4, 3, 1)] for cells in [HEADER, *map(plain, rows())]]
    path.write_text("\n".join(",".join(line) for line in lines) + "\n")
    assert announced(path) == clean


def test_numbers_as_vowpal_wabbit_writes_them_are_the_same(tmp_path: Path) -> None:
    made = [(row["price"], row["rate"], 1 + (row["count"] or 0), row["y"]) for row in rows()]
    text, wabbit = tmp_path / "numbers.csv", tmp_path / "numbers.vw"
    text.write_text("a,b,c,y\n" + "".join(f"{a},{b},{c},{y}\n" for a, b, c, y in made))
    wabbit.write_text("".join(f"{y} | a:{a} b:{b} c:{c}\n" for a, b, c, y in made))
    assert announced(wabbit) == announced(text)
