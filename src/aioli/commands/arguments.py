"""Parses the options of the command, as the shell gives them, into what each command takes."""

import argparse
from typing import TYPE_CHECKING, Any

from aioli import __version__
from aioli.commands.serve_arguments import add_serve

if TYPE_CHECKING:
    from aioli.streams.reading import Reading

__all__ = ["command_parser", "playing_options", "reading_of"]


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands and their options."""
    parser = argparse.ArgumentParser(
        prog="aioli",
        description="Online logistic regression with honest probabilities and a proven bound on the regret.",
    )
    parser.add_argument("--version", action="version", version=f"aioli {__version__}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    demo = commands.add_parser("demo", help="the whole job on a real table: learn it, see the page, score a new row")
    demo.add_argument("--folder", default="demo", metavar="DIR", help="where its files go (default: ./demo)")
    demo.add_argument(
        "--figure", metavar="FILE", help="instead, play handwritten digits and draw regret, certificate and theorem"
    )
    _add_run(commands)
    _add_compare(commands)
    predict = commands.add_parser("predict", help="the probabilities of new rows, from a saved model")
    predict.add_argument("source", metavar="FILE", help="a file, a folder, or - for standard input")
    predict.add_argument("--model", required=True, metavar="MODEL", help="what aioli run --save wrote")
    predict.add_argument("--out", metavar="FILE", help="where to (.parquet, .csv, .jsonl); default: print them")
    _add_top(predict)
    predict.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    predict.add_argument(
        "--explain",
        type=int,
        nargs="?",
        const=5,
        default=0,
        metavar="N",
        help="print beside a row what its columns add",
    )
    predict.add_argument("--by", metavar="COLUMN", help="whose model a row is of (default: as it was taught)")
    _add_key(predict, "carry this column into the predictions")
    predict.set_defaults(labels=None)
    _add_reading(predict)
    look = commands.add_parser("inspect", help="what a saved model knows")
    look.add_argument("model", metavar="MODEL", help="what aioli run --save, or a learner's save(), wrote")
    look.add_argument("--of", metavar="KEY", help="of one model a key (aioli run --by): this key's")
    look.add_argument("--json", action="store_true", help="print one JSON object")
    add_serve(commands)
    commands.add_parser("warm", help="compile now what the first run on this machine would compile")
    paper = commands.add_parser("paper", help="the paper's figures, table and theorems, measured again")
    paper.add_argument("--out", metavar="DIR", default="paper", help="where figures and numbers go (default: ./paper)")
    paper.add_argument("--fast", action="store_true", help="smaller and fewer runs: under a minute")
    paper.add_argument("--processes", type=int, metavar="N", help="runs side by side (default: one a core)")
    paper.add_argument("--only", metavar="NAME,…", help="some of the experiments, by name")
    return parser


def _add_run(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    run = commands.add_parser("run", help="play a file as a stream: predict, score, learn, row by row")
    _add_playing(run)
    _add_key(run, "carry this column into the predictions; with --labels, it says which label is which row's")
    run.add_argument("--by", metavar="COLUMN", help="one model a key of this column (user, shop, …), and scores by key")
    guests = run.add_argument_group("models of your own")
    guests.add_argument(
        "--guest",
        action="append",
        default=[],
        metavar="MODEL",
        help="hear this model too (.onnx, or .joblib with --trust)",
    )
    guests.add_argument("--trust", action="store_true", help="load .joblib guests, which run code of whoever made them")
    _add_labels(run)
    results = run.add_argument_group("results")
    results.add_argument("--predictions", metavar="FILE", help="write every row's probability (.parquet, .csv, .jsonl)")
    _add_top(results)
    results.add_argument("--save", metavar="MODEL", help="write what was learned, for aioli predict and inspect")
    results.add_argument("--model", metavar="MODEL", help="go on from what an earlier run saved, with its columns")
    results.add_argument("--report", metavar="PAGE", help="write a page of plots (.html)")
    results.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    keeping = run.add_argument_group("being killed, and going on")
    keeping.add_argument("--checkpoint", metavar="DIR", help="keep the state of the run in this folder")
    keeping.add_argument(
        "--every", type=float, default=10.0, metavar="S", help="seconds between checkpoints (default: 10)"
    )
    keeping.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint, if it has one")


def _add_compare(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    compare = commands.add_parser("compare", help="the same pass with River, Vowpal Wabbit and scikit-learn beside it")
    _add_playing(compare).add_argument(
        "--peers", default="river,vw,sklearn", metavar="NAME,…", help="who plays too (default: river,vw,sklearn)"
    )
    second = _add_labels(compare)
    _add_key(second, "the column of both files that says which label is which row's")
    results = compare.add_argument_group("results")
    results.add_argument("--report", metavar="PAGE", help="write a page of plots (.html)")
    results.add_argument("--figure", metavar="FILE", help="draw everybody's running loss (.png, .svg, .pdf)")
    results.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _add_playing(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add source and learner options; return the learner group."""
    command.add_argument("source", metavar="FILE", help="a file, a folder, - for standard input, or synthetic:NAME")
    _add_reading(command)
    learning = command.add_argument_group("learning")
    learning.add_argument(
        "--learner", default="Auto", metavar="NAME", help="Auto (default), AIOLI, 'AIOLI(radius=2)', …"
    )
    learning.add_argument(
        "--rows", type=int, default=10_000, metavar="N", help="of a synthetic stream (default: 10000)"
    )
    learning.add_argument("--seed", type=int, default=0, metavar="N", help="of a synthetic stream (default: 0)")
    learning.add_argument(
        "--classes",
        metavar="any",
        help="of labels: any, all of them (a,b,c), or two (default: two, and more if they come)",
    )
    learning.add_argument("--weight", metavar="COLUMN", help="how much each row counts; the column is no feature")
    learning.add_argument("--no-regret", action="store_true", help="do not look for the best fixed model in hindsight")
    late = command.add_argument_group("labels that come late")
    late.add_argument(
        "--delay", metavar="N", help="labels come N rows late (500), or so long after the row (90s, 30m, 12h, 7d)"
    )
    late.add_argument("--time", metavar="COLUMN", help="when a row came: dates, or seconds; for a --delay in time")
    late.add_argument("--batch", type=int, metavar="N", help="the labels of N rows come together, after the last")
    return learning


def _add_labels(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the option of a second file that has the labels; return its group."""
    second = command.add_argument_group("labels in a second file")
    second.add_argument("--labels", metavar="FILE", help="a file of labels; --label is then one of its columns")
    return second


def _add_key(command: argparse._ActionsContainer, text: str) -> None:
    """Add the option of columns that are carried beside the rows."""
    command.add_argument("--key", action="append", default=[], metavar="COLUMN", help=text)


def _add_top(command: argparse._ActionsContainer) -> None:
    """Add the option of how many classes are written for each row."""
    command.add_argument(
        "--top", type=int, metavar="N", help="write the N likeliest classes of each row, a line each, not a column each"
    )


def _add_reading(command: argparse.ArgumentParser) -> None:
    """Add the options of how a file is read: the same for every command that reads one."""
    reading = command.add_argument_group("reading")
    reading.add_argument("--label", metavar="COLUMN", help="the label's column: its name, or number (1 first, -1 last)")
    reading.add_argument(
        "--positive", metavar="VALUE", help="the positive class, against the rest (default: 1, true, yes, …)"
    )
    for kind in ("number", "category", "date", "text", "skip"):
        text = "leave out these columns" if kind == "skip" else f"read these columns as {kind}s".replace("ys", "ies")
        reading.add_argument(f"--{kind}", action="append", default=[], metavar="COLUMN", help=text)
    reading.add_argument(
        "--columns", type=int, metavar="N", help="of their own for categories (default: 256), or for sparse features"
    )
    reading.add_argument(
        "--scale", action="store_true", help="bring columns to one scale as they come (Auto does it itself)"
    )
    reading.add_argument("--format", metavar="NAME", help="csv, tsv, parquet, arrow, jsonl, svmlight or vw")
    reading.add_argument("--delimiter", metavar="C", help="between cells (default: the one that the first line shows)")
    reading.add_argument("--encoding", metavar="NAME", help="of text: latin-1, utf-16, … (default: utf-8, or cp1252)")
    reading.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="what to do with a row that cannot be read (default: stop); skip counts and tells them",
    )
    reading.add_argument("--no-header", action="store_true", help="the first row is no header; columns are 1, 2, 3, …")


def reading_of(given: argparse.Namespace, time: str | None = None) -> "Reading":
    """Return how a file is to be read; `time` is the column that says when a row came."""
    from aioli.streams.reading import Reading

    return Reading(
        label=given.label,
        positive=given.positive,
        number=tuple(given.number),
        category=tuple(given.category),
        date=tuple(given.date),
        text=tuple(given.text),
        skip=tuple(given.skip),
        cap=given.columns,
        scale=given.scale or _by(given) is not None,
        format=given.format,
        delimiter=given.delimiter,
        header=not given.no_header,
        time=time,
        weight=given.weight if "weight" in given else None,
        key=_keys_of(given),
        encoding=given.encoding,
        on_error=given.on_error,
    )


def _by(given: argparse.Namespace) -> str | None:
    """Return the column that tells which model a row is of, where the command knows one."""
    return given.by if "by" in given else None


def _keys_of(given: argparse.Namespace) -> tuple[str, ...]:
    """Return the columns that are carried beside the rows: first the one that tells which model a row is of."""
    carried = tuple(given.key) if "key" in given and not given.labels else ()
    by = _by(given)
    return carried if by is None else (by, *(name for name in carried if name != by))


def playing_options(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options of both `aioli run` and `aioli compare`, as `commands.options` names them."""
    same = ("source", "learner", "rows", "seed", "delay", "batch", "labels", "report")
    classes = given.classes if given.classes in (None, "any", "two") else tuple(given.classes.split(","))
    return {name: vars(given)[name] for name in same} | {
        "reading": reading_of(given, given.time),
        "classes": classes,
        "as_json": given.json,
        "regret": not given.no_regret,
        "command": given.line,
        **({"keys": tuple(given.key)} if "key" in given else {}),
    }
