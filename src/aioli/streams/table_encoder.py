"""Encodes data frames and dictionaries as rows of numbers, by the rules of the command: the same features."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import RowRefused, SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.streams.blocks import block_rows, row_slice
from aioli.streams.encoding import Encoder, column_kinds
from aioli.streams.files.recognition import recognise, sample_size
from aioli.streams.files.table import CATEGORY, DATE, NUMBER, SKIPPED, TEXT, Features, Table
from aioli.streams.found_features import Mark
from aioli.streams.known_columns import KnowsColumns
from aioli.streams.raw_columns import RawColumns, columns_of, table_of_columns

__all__ = ["TableEncoder"]


TRANSFORMING = Lock()  # one for all encoders: copies and files of them hold none


class TableEncoder(KnowsColumns):
    """Encodes rows of named values as rows of features: numbers, categories, dates, free text, missing values.

    What a column is, its first thousand values show, however they are written (`1,549.34`, `14.7 %`, `31.01.2024`);
    categories that come later get further features, exactly as if they had been there, and 0, from the first row. Takes
    data frames of pandas, polars and pyarrow, arrays and lists of rows, and dictionaries: one, or a list of them.

    Parameters
    ----------
    number, category, date, text, skip
        Columns of this kind, whatever they seem to be.
    label
        A column that is the label, and so no feature.
    cap, wide
        How many features categories may have of their own (None for 256, or 2¹⁸ where `wide`), and whether rows of more
        than 256 features are sparse.

    Examples
    --------
    >>> encoder = TableEncoder()
    >>> encoder.encode([{"size": "1,5", "colour": "red"}, {"size": "0,5", "colour": "blue"}])
    array([[1.5, 1. , 0. ],
           [0.5, 0. , 1. ]])
    >>> encoder.features
    ['size', 'colour=red', 'colour=blue']
    >>> encoder.transform({"size": None, "colour": "green"})
    array([[1., 0., 0.]])
    """

    _label_kind: Mapping[str, str] = MappingProxyType({})  # by its name, where a file of the command says so

    def __init__(
        self,
        *,
        number: Collection[str] = (),
        category: Collection[str] = (),
        date: Collection[str] = (),
        text: Collection[str] = (),
        skip: Collection[str] = (),
        label: str | None = None,
        cap: int | None = None,
        wide: bool = False,
    ) -> None:
        super().__init__()
        asked = ((NUMBER, number), (CATEGORY, category), (DATE, date), (TEXT, text), (SKIPPED, skip))
        self._asked = {name: kind for kind, names in asked for name in names}
        self._label, self._cap, self._wide = label, cap, wide

    @classmethod
    def of_numbers(cls, names: Sequence[str], sums: Vector, counts: NDArray[np.int64]) -> Self:
        """Return the encoder of columns of numbers, of whose values so far the sums and the counts are given."""
        encoder = cls(number=names)
        encoder._encoder = Encoder(dict.fromkeys(names, NUMBER))
        encoder._encoder.begin_sums(zip(names, sums.tolist(), counts.tolist(), strict=True))
        return encoder

    @property
    def kinds(self) -> dict[str, str]:
        """What each column is, by name."""
        return dict(super().kinds)

    @property
    def sparse(self) -> bool:
        """Whether rows are CSR."""
        return self._encoder is not None and self._encoder.sparse

    def allow_wide(self) -> None:
        """Let rows have any number of features, sparse where they are many, for a learner that takes such."""
        self._wide = True
        if self._encoder is not None:
            self._encoder.wide = True

    def encode(self, data: object) -> Features:
        """Return the rows as features, and remember what is new in them."""
        row = self.encode_row(data)
        return self.encode_table(self.table(data)) if row is None else row

    def encode_table(self, table: Table | None, moving: bool = True) -> Features:
        """Return the rows of a table as features, and remember what is new in them; `moving` as in `blocks`."""
        return joined(list(self.blocks(table, moving)), len(self.features))

    def encode_row(self, data: object) -> Matrix | None:
        """Return one dictionary as `encode` does, and remember as much; None where anything in it is new or unusual."""
        if self._encoder is None or type(data) is not dict:
            return None
        self._encoder.moving = True
        return self._encoder.encode_row(data)

    def table(self, data: object) -> Table | None:
        """Return the rows as a table, once it is known what each column is; None where there is no row."""
        columns, rows, open_ended = columns_of(data)
        return self._table(columns, rows, open_ended) if rows else None

    def blocks(self, table: Table | None, moving: bool = True) -> Iterator[Features]:
        """Yield the rows as features block by block, as the command does, each as wide as the features by then.

        Where they are not `moving`, the means that stand for missing values stay as they are.
        """
        if table is None:
            return
        encoder, rows = self._known(), len(table)
        encoder.moving = moving
        columns = sum(kind != SKIPPED for kind in encoder.kinds.values()) + len(table.new)
        size = block_rows(columns + 1)  # as of a file, of which one column is the label
        for first in range(0, rows, size):
            part = row_slice(table, first, min(rows, first + size))
            assert isinstance(part, Table)
            yield encoder.encode(part)

    def transform(self, data: object) -> Features:
        """Return the rows by the features known so far, and remember nothing; what is new in them counts as 0."""
        with TRANSFORMING:  # what is new is encoded, and forgotten: by one thread at a time
            return self._transformed(data)

    def _transformed(self, data: object) -> Features:
        encoder = self._known()
        if type(data) is dict and (row := encoder.consult_row(data)) is not None:
            return row
        columns, rows, open_ended = columns_of(data)
        self._require_columns(columns, open_ended)
        width = len(encoder.features)
        if not rows:
            return np.zeros((0, width))
        kinds = {name: kind for name, kind in encoder.kinds.items() if name != self._label}
        mark, moving = encoder.mark(), encoder.moving
        encoder.moving = False
        try:
            return encoder.encode(table_of_columns(columns, kinds, self._notations, rows, {}))[:, :width]
        finally:
            encoder.undo(mark)
            encoder.moving = moving

    def mark(self) -> tuple[Mark | None, dict[str, str]]:
        """Return what `undo` needs to forget all that is encoded from now on. O(columns)."""
        return None if self._encoder is None else self._encoder.mark(), dict(self._notations)

    def undo(self, mark: tuple[Mark | None, dict[str, str]], learned: int | None = None) -> None:
        """Forget what was encoded since the mark; features that a learner has `learned` stay."""
        encoder, notations = mark
        if encoder is None:
            self._encoder = None
        elif self._encoder is not None:
            self._encoder.undo(encoder, learned)
        stays = encoder is not None and learned is not None and learned > encoder.features
        self._notations = {**self._notations, **notations} if stays else notations

    @contextmanager
    def all_or_nothing(self, learned: Callable[[], int | None] = lambda: None) -> Iterator[None]:
        """Forget what the block has encoded where it raises, but for the features that a learner has by then."""
        mark = self.mark()
        try:
            yield
        except BaseException:
            self.undo(mark, learned())
            raise

    def _known(self) -> Encoder:
        if self._encoder is None:
            raise RowRefused("cannot be encoded", remedy="encode some rows first", place="the data")
        return self._encoder

    def _table(self, columns: RawColumns, rows: int, open_ended: bool) -> Table:
        """Return the columns as a table; those that are new are recognised by their first values."""
        known = self.kinds
        unknown = {name: column for name, column in columns.items() if name not in known and name != self._label}
        most = sample_size(len(columns))
        sample = {
            name: seen if isinstance(seen := column.sample, str) else seen[:most] for name, column in unknown.items()
        }
        found = recognise(sample, {name: kind for name, kind in self._asked.items() if name in sample})
        new = {name: column.kind for name, column in found.items()}
        if self._encoder is None:
            if not any(kind != SKIPPED for kind in new.values()):
                raise RowRefused("has no column to learn from", remedy="give at least one value", place="the data")
            self._encoder, new = Encoder(new, self._cap, self._wide), {}
        else:
            self._require_columns(columns, open_ended)
        self._notations |= {name: column.notation for name, column in found.items() if column.notation}
        kinds = {**self._encoder.kinds, **new}
        return table_of_columns(columns, kinds, self._notations, rows, new)

    def _require_columns(self, columns: RawColumns, open_ended: bool) -> None:
        """Refuse a frame that lacks a column; a key that a dictionary lacks is a value that is missing."""
        kinds = self.kinds
        gone = [name for name, kind in kinds.items() if kind != SKIPPED and name not in columns]
        used = [name for name, kind in kinds.items() if kind != SKIPPED]
        if gone and (not open_ended or len(gone) == len(used)):
            what = f"has no column {gone[0]!r}, which was there before"
            raise RowRefused(what, remedy="add it, or rename the column that it is", place="the data")

    def snapshot(self, label: str | None = None, labels: Snapshot | None = None) -> Snapshot:
        """Return the columns and the features, as the command keeps them of a file."""
        values = self._column_values(label or self._label)
        values["columns"] = [*self.kinds, *self._label_kind]
        values["kinds"] = [*self.kinds.values(), *self._label_kind.values()]
        values |= {"asked": dict(self._asked)} if self._asked else {}
        encoder = Encoder({}, self._cap, self._wide) if self._encoder is None else self._encoder
        parts = {"encoder": encoder.snapshot()} | ({} if labels is None else {"labels": labels})
        return Snapshot("FileStream", values, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal encoder; the stream of a model that `aioli run` saved will do."""
        if "scaler" in snapshot.of("FileStream").parts:
            raise SnapshotRefused(
                "its columns were scaled (--scale), which is for files; use Auto, which needs no scale"
            )
        if snapshot.part("encoder").kind != "Encoder":
            raise SnapshotRefused("it learned from sparse rows, which have no columns; read them with aioli predict")
        encoder = cls(label=snapshot.optional_text("label"))
        kept = Encoder.restore(snapshot.part("encoder", "Encoder"))
        encoder._cap, encoder._wide = kept.given_cap, kept.wide
        if "asked" in snapshot.values:
            encoder._asked = {name: str(kind) for name, kind in snapshot.mapping("asked").items()}
        known = column_kinds(snapshot)
        encoder._label_kind = {name: kind for name, kind in known.items() if name == encoder._label}
        if known or kept.kinds:
            encoder._encoder = kept
            kept.kinds.update({name: kind for name, kind in known.items() if kind == SKIPPED})
        encoder._restore_notations(snapshot)
        return encoder


def joined(blocks: list[Features], width: int) -> Features:
    """Return blocks of rows as one, features that came later 0 in the rows before."""
    if not blocks:
        return np.zeros((0, width))
    if len(blocks) == 1:
        return blocks[0]
    dense = [block for block in blocks if isinstance(block, np.ndarray)]
    if len(dense) == len(blocks):
        return np.concatenate([np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in dense])
    from scipy import sparse  # loaded where it is needed: a process starts sooner without it

    parts = [sparse.csr_array(block) for block in blocks]
    wide = [sparse.csr_array((part.data, part.indices, part.indptr), shape=(part.shape[0], width)) for part in parts]
    return sparse.csr_array(sparse.vstack(wide))
