"""The ensemble of experts behind `Auto` for many classes: who plays, what each remembers, how rows train it."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.classes.companions import Companions, Player
from aioli.learners.classes.experts import (
    CLASS_EXPERTS,
    CLASS_SHARES,
    FIRST_TWO,
    ROW,
    ClassExpert,
    experts_for,
    require_budget,
)
from aioli.learners.classes.first_two import FirstTwoState
from aioli.learners.classes.heard import Heard
from aioli.learners.classes.prepared_row import LearnedRow, PreparedRows
from aioli.numerics.compiling import Cube, Matrix, Vector
from aioli.numerics.threads import do_all, followed_by, one_blas_thread
from aioli.outcomes.class_labels import Codes
from aioli.outcomes.class_places import ClassPlaces
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.against_rest import RestState
from aioli.states.classes.base_views import BaseViews
from aioli.states.classes.boosting import ClassBoostedState
from aioli.states.classes.mixture import ClassMixture
from aioli.states.classes.shared import FEWEST
from aioli.states.classes.views import SeenView

__all__ = ["ClassEnsemble"]

REVIEW = 1024  # rows after which an expert may retire; at most so many are played at a time
HELD = 1 << 21  # numbers that the experts may announce at a time, before the mixture takes them
FEWEST_HELD = 64  # rows
WORTHWHILE = 64  # rows from which a second thread earns more than it costs
SHARES_PRIOR = 1.0  # of the class shares, where an expert has 3 or 1


class ClassEnsemble:
    """Plays softmax learners on views of the rows, and announces the probabilities of their mixture.

    Companions of other kinds, naive Bayes and a forest, are mixed with what the softmax learners say together.

    Which experts play depends on the number of classes: as classes come, some join. One that is outgrown leaves at once
    in the first rows, and later as soon as another is heard more. An expert without influence at two reviews in a row
    retires, unless it is a cheap one that waits for the world to change, or the one that proves a bound.

    Parameters
    ----------
    experts
        How many may play, the first of those for the number of classes; None for all.
    columns, places
        How many columns there are, and which places of classes, at the beginning.
    budget
        "fast", "usual" or "best": whether a forest plays, and how large it is.
    """

    def __init__(self, experts: int | None, columns: int, places: ClassPlaces, budget: str = "usual") -> None:
        self.experts, self.budget, self._unseen = experts, budget, places.unseen
        self.rounds = 0
        self.bases = BaseViews(columns)
        self.views: dict[str, SeenView] = {}  # by name
        self.players: list[Player] = []
        self.retired: set[str] = set()
        self._rows = PreparedRows()  # until somebody joins or leaves, or an array is replaced
        starting = experts_for(places.known, columns, budget)[:experts]
        beside = [expert for expert in starting if expert.is_companion]
        self.companions = Companions.begin(beside, columns, places, budget) if beside else None
        starting = [expert for expert in starting if not expert.is_companion]
        self.mixture = ClassMixture(np.array([*(expert.prior for expert in starting), SHARES_PRIOR]), places.count)
        for expert in starting:
            self._begin(expert)

    @property
    def columns(self) -> int:
        """How many columns a row has."""
        return self.bases.width

    @property
    def classes(self) -> int:
        """How many classes have a place in what is announced."""
        return self.mixture.classes

    @property
    def places(self) -> ClassPlaces:
        """The places of the classes seen or declared, and of those that nobody has seen."""
        return ClassPlaces(self.mixture.classes - self._unseen, self._unseen)

    @property
    def shares(self) -> dict[str, float]:
        """How much of the mixture each expert that plays holds, and the class shares."""
        names = [*(player.expert.name for player in self.players), CLASS_SHARES]
        shares = dict(zip(names, self.mixture.shares.tolist(), strict=True))
        return shares if self.companions is None else self.companions.shares(shares)

    def proven(self, tight: bool = False) -> tuple[float, float] | None:
        """Return the certificate of the expert that proves a bound, and the losses that it is about.

        None where no such expert has played from the first row.
        """
        states = [player.state for player in self.players if isinstance(player.state, RestState)]
        return states[0].proven(self.places.known, tight) if states else None

    # ---- playing

    def play(self, X: Matrix, codes: Codes, weights: Vector) -> Matrix:
        """Learn from the rows in order; return the probabilities of the classes before each label."""
        return np.concatenate([heard.whole for heard in self.played(X, codes, weights)])

    def played(self, X: Matrix, codes: Codes, weights: Vector) -> Iterator[Heard]:
        """Learn from the rows in order; yield what was said before each label, some rows at a time."""
        if len(X) == 1:
            row = self.prepared()
            row.X[...] = X
            said = row.play(int(codes[0]), float(weights[0])).copy()
            yield self._heard(said, row.below.copy(), row.above.copy())
            self._count_in(1)
            return
        self._rows.forget()
        first = 0
        with one_blas_thread() if len(X) >= FEWEST else nullcontext():
            while first < len(X):
                held = max(HELD // max(len(self.players) * self.classes, 1), FEWEST_HELD)
                part = slice(first, first + min(REVIEW - self.rounds % REVIEW, held))
                yield self._play_block(X[part], codes[part], weights[part])
                first += len(X[part])
                self._count_in(len(X[part]))

    def prepared(self) -> LearnedRow:
        """Return room for a single row, and all that it takes to play it."""
        return self._rows.to_learn(self)

    def play_row(self, row: LearnedRow, code: int, weight: float) -> Matrix:
        """Learn from a prepared row; return its probabilities before the label, in one line that is overwritten."""
        said = row.play(code, weight)
        self._count_in(1)
        return said

    def _count_in(self, rows: int) -> None:
        self.rounds += rows
        if not self.rounds % REVIEW:
            self._rows.forget()
            self._review()

    def predict(self, X: Matrix) -> Matrix:
        """Return the probabilities of the classes, for each row as if it came next; changes nothing."""
        return self.consult(X).whole

    def consult(self, X: Matrix) -> Heard:
        """Return what is said of rows, each as if it came next; changes nothing."""
        if len(X) == 1:
            return self._heard(*self._rows.consult(self, X))
        plain = self.bases.peek(X)
        seen = {name: view.of_rows(plain[view.base], peek=True) for name, view in self.views.items()} | {ROW: X}
        below, above = self._room(len(X))
        for player, out in zip(self._everybody, [*below, *above[1:]], strict=True):
            player.state.consult(seen[player.reads], out)
        said = self.mixture.announce(below)
        if self.companions is not None:
            said = self.companions.announce(said, above)
        return self._heard(said, below, above)

    def _play_block(self, X: Matrix, codes: Codes, weights: Vector) -> Heard:
        plain = self.bases.of_rows(X)
        seen = {name: view.of_rows(plain[view.base]) for name, view in self.views.items()} | {ROW: X}
        below, above = self._room(len(X))
        said, combine = self.mixture.prepared(below, codes, weights)
        calls = [
            partial(player.state.play, seen[player.reads], codes, weights, out)
            for player, out in zip(self._everybody, [*below, *above[1:]], strict=True)
        ]
        here = len(self.players)
        widest_first = sorted(range(here), key=lambda i: -self.players[i].state.width)
        together = followed_by(combine, [calls[i] for i in widest_first])
        do_all([*calls[here:], *together], side_by_side=len(X) >= WORTHWHILE)  # a forest takes the longest
        if self.companions is not None:
            said = self.companions.combine(said, above, codes, weights)
        return self._heard(said, below, above)

    @property
    def _everybody(self) -> list[Player]:
        return [*self.players, *([] if self.companions is None else self.companions.players)]

    def _room(self, rows: int) -> tuple[Cube, Cube]:
        """Return room for what the players say, and for what they say together and the companions say beside it."""
        here = len(self.players)
        return np.empty((here, rows, self.classes)), np.empty((1 + len(self._everybody) - here, rows, self.classes))

    def _heard(self, said: Matrix, below: Cube, above: Cube) -> Heard:
        return Heard(said, [player.expert.name for player in self._everybody], below, above)

    # ---- who plays

    def open_up(self) -> Self:
        """Make a place for all classes that nobody has seen, behind those known; return the ensemble."""
        self._unseen = 1
        self._rows.forget()
        self.mixture.add_class()
        if self.companions is not None:
            self.companions.mixture.add_class()
        for player in self._everybody:
            player.open_up(self.places)
        return self

    def add_class(self) -> None:
        """Make room for one further class, and let the experts that so many classes need join."""
        self._rows.forget()
        for player in self.players:
            player.state.add_class()
        self.mixture.add_class()
        if self.companions is not None:
            self.companions.add_class()
            if self.rounds < REVIEW:  # many classes in the first rows: each would make a forest's nodes anew
                self.retired |= self.companions.dismiss_outgrown(self.places.known, self.columns)
        playing = {player.expert for player in self._everybody}
        for expert in experts_for(self.places.known, self.columns, self.budget)[: self.experts]:
            if expert not in playing and expert.name not in self.retired and not expert.is_companion:
                total = sum(player.expert.prior for player in self.players) + expert.prior + SHARES_PRIOR
                self.mixture = self.mixture.joined(expert.prior / total)
                self._begin(expert)
        outgrown = [i for i, player in enumerate(self.players) if self._is_outgrown(player.expert)]
        self._retire([i for i in outgrown if self.rounds < REVIEW or self.players[i].expert.certified])

    def _begin(self, expert: ClassExpert) -> None:
        """Let an expert play that has a place in the mixture, behind those that play."""
        width = self.columns
        if expert.view.name != ROW:
            view = self.views.get(expert.view.name) or SeenView(expert.view, self.columns)
            self.views[expert.view.name] = view
            width = view.width
        self.players.append(Player(expert, expert.state(width, self.places, self.budget)))

    def _is_outgrown(self, expert: ClassExpert) -> bool:
        return not expert.plays(self.places.known, self.columns)

    def _review(self) -> None:
        """Retire the experts that have no influence, now and at the last review, and those outgrown and outplayed."""
        negligible = self.mixture.negligible()
        most = self.mixture.shares.max()
        leaving: list[int] = []
        for i, player in enumerate(self.players):
            stays = player.expert.certified or (player.expert.forgetting < 1.0 and not player.expert.view.waves)
            outplayed = self._is_outgrown(player.expert) and self.mixture.shares[i] < most
            if i > 0 and (outplayed or (negligible[i] and player.negligible and not stays)):
                leaving.append(i)
            player.negligible = bool(negligible[i])
        self._retire(leaving)
        if self.companions is not None:
            self.retired |= self.companions.review(self.places.known, self.columns)

    def _retire(self, leaving: Sequence[int]) -> None:
        if not leaving:
            return
        self.mixture = self.mixture.without(leaving)
        self.retired |= {self.players[i].expert.name for i in leaving}
        self.players = [player for i, player in enumerate(self.players) if i not in leaving]
        self.views = {player.reads: self.views[player.reads] for player in self.players if player.reads != ROW}

    # ---- its life

    def mark_gaps(self, gaps: Sequence[tuple[int, int]]) -> None:
        """Tell boosted trees of columns whose missing numbers are marked, as `BoostedState.mark_gaps` says."""
        for player in self._everybody:
            if isinstance(player.state, ClassBoostedState):
                player.state.mark_gaps(gaps)

    def grow(self, columns: int) -> None:
        """Make room for new columns, as if they had been there, and 0, from the first row."""
        self._rows.forget()
        places = {ROW: np.arange(self.columns)}
        self.bases = self.bases.grown(columns)
        for name, view in self.views.items():
            self.views[name], places[name] = view.grown(columns)
        for player in self._everybody:
            width = self.columns if player.reads == ROW else self.views[player.reads].width
            player.state = player.state.grown(width, places[player.reads])

    def snapshot(self) -> Snapshot:
        """Return who plays and who has retired, all states, the views, and the mixture."""
        names = [player.expert.name for player in self._everybody]
        values = {
            "experts": self.experts,
            "budget": self.budget,
            "rounds": self.rounds,
            "opened": self._unseen > 0,
            "playing": names,
            "retired": sorted(self.retired),
        }
        parts = {"bases": self.bases.snapshot(), "mixture": self.mixture.snapshot()}
        parts |= {} if self.companions is None else {"companions": self.companions.mixture.snapshot()}
        parts |= {f"state{i}": player.state.snapshot() for i, player in enumerate(self._everybody)}
        parts |= {f"view{i}": view.snapshot() for i, view in enumerate(self.views.values())}
        negligible = np.array([float(player.negligible) for player in self._everybody])
        return Snapshot("ClassEnsemble", values, {"negligible": negligible}, parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal ensemble."""
        given = snapshot.of("ClassEnsemble")
        known = {expert.name: expert for expert in (*CLASS_EXPERTS, FIRST_TWO)}
        names, retired = given.texts("playing") or [], given.texts("retired") or []
        if not names or not set(names) | set(retired) <= set(known) or len(set(names)) < len(names):
            raise SnapshotRefused(f"in a ClassEnsemble, the experts are {names}, not those of this version")
        bases, mixture = BaseViews.restore(given.part("bases")), ClassMixture.restore(given.part("mixture"))
        budget = given.text("budget") if "budget" in given.values else "fast"  # before there were budgets
        made = cls(1, 0, ClassPlaces(0), require_budget(budget))
        made.experts, made.rounds, made.retired = given.optional_whole("experts"), given.whole("rounds"), set(retired)
        made._unseen = int("opened" in given.values and given.flag("opened"))
        made.bases, made.mixture, made.views = bases, mixture, {}
        made.players, made.companions = [], None
        if "companions" in given.parts:
            made.companions = Companions([], ClassMixture.restore(given.part("companions")))
        negligible = given.array("negligible", (len(names),))
        for i, name in enumerate(names):
            part = given.part(f"state{i}")
            expert = known[name]
            state = FirstTwoState.restore(part) if expert == FIRST_TWO else expert.restored(part, made.places)
            player = Player(expert, state, bool(negligible[i]))
            if player.reads != ROW and player.reads not in made.views:
                part = given.part(f"view{len(made.views)}")
                made.views[player.reads] = SeenView.restore(part, player.expert.view)
            if expert.is_companion and made.companions is not None:
                made.companions.players.append(player)
            else:
                made.players.append(player)
            width = bases.width if player.reads == ROW else made.views[player.reads].width
            columns = bases.width if player.reads == ROW else made.views[player.reads].columns
            if (columns, width, state.classes) != (bases.width, state.width, expert.classes(made.places)):
                raise SnapshotRefused(f"the state of {name} is of another width, or of other classes")
        shares = [mixture] if made.companions is None else [mixture, made.companions.mixture]
        if sum(each.experts for each in shares) != len(names) + len(shares) - 1 or mixture.experts != len(made.players):
            raise SnapshotRefused(f"{len(names)} experts have {mixture.experts} shares of the mixture")
        if len({each.classes for each in shares}) > 1:
            raise SnapshotRefused(f"mixtures of {mixture.classes} and of other classes came together")
        return made
