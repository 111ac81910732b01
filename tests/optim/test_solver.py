"""The loop: when it stops, what it keeps, what it says."""

from typing import NamedTuple

import numpy as np
import pytest

from polyceptron.optim import solver
from polyceptron.optim.solver import Rank, Step, Stopping


class Script(NamedTuple):
    """A learner that reads its ranks from a list; a state is (list, place)."""

    finish_at: float = np.inf
    ranked: bool = True

    def _step(self, data, state):
        ranks, place = state
        rank = self._rank(data, state)
        return Step(
            state,
            (ranks, place + 1),
            rank if self.ranked else None,
            {"mistakes": rank.mistakes, "place": float(place)},
            place >= self.finish_at,
        )

    def _rank(self, data, state):
        assert data == "rows"
        ranks, place = state
        return ranks[min(place, len(ranks) - 1)]

    def _conclude(self, data, best, last):
        assert data == "rows"
        assert best[0] is last[0]
        return best


def ranks(*mistakes, criterion=1.0):
    return tuple(Rank(m, criterion) for m in mistakes)


def once(learner, some_ranks, max_iter=100, patience=None):
    return solver.run(learner, "rows", [(some_ranks, 0)], Stopping(max_iter, patience))


def run(learner, starts, max_iter=100, patience=None):
    starts = ((some_ranks, 0) for some_ranks in starts)
    return solver.run(learner, "rows", starts, Stopping(max_iter, patience))


class TestOneRun:
    def test_out_of_iterations(self):
        found = once(Script(), ranks(9, 4, 7, 6, 5), max_iter=4)
        assert found.n_iter == 4
        assert not found.converged
        assert found.state[1] == 1  # the best, not the last
        assert found.rank == Rank(4, 1)

    def test_finished_gives_the_last_state(self):
        found = once(Script(finish_at=2), ranks(9, 4, 7, 6))
        assert found.n_iter == 3
        assert found.converged
        assert found.state[1] == 2
        assert found.rank == Rank(7, 1)

    def test_finished_in_the_last_iteration_counts_as_converged(self):
        assert once(Script(finish_at=2), ranks(3, 2, 1), max_iter=3).converged
        assert not once(Script(finish_at=3), ranks(3, 2, 1), max_iter=3).converged

    def test_settled_after_patience(self):
        #         since:            0  0  1  2  0  1  2  3
        found = once(Script(), ranks(9, 5, 5, 6, 4, 4, 5, 4, 3), patience=3)
        assert found.n_iter == 8
        assert found.converged
        assert found.state[1] == 4

    def test_only_fewer_mistakes_renew_patience(self):
        falling = tuple(Rank(5, 1.0 / (i + 1)) for i in range(20))
        found = once(Script(), falling, patience=3)
        assert found.n_iter == 4
        assert found.state[1] == 3  # the least criterion among equals

    def test_not_settled_too_soon(self):
        stopping = Stopping(100, 3, at_least=10)
        found = solver.run(Script(), "rows", [(ranks(5, 4), 0)], stopping)
        assert (found.n_iter, found.converged) == (10, True)

    def test_best_goes_by_mistakes_then_criterion_then_time(self):
        found = once(
            Script(),
            (Rank(3, 0.1), Rank(2, 9.0), Rank(2, 8.0), Rank(2, 8.0), Rank(4, 0.0)),
            max_iter=5,
        )
        assert found.state[1] == 2

    def test_without_ranks_the_last_state_is_kept_and_ranked_at_the_end(self):
        found = once(Script(ranked=False), ranks(9, 1, 7), max_iter=3, patience=1)
        assert found.n_iter == 3
        assert found.state[1] == 2
        assert found.rank == Rank(7, 1)

    def test_the_learner_concludes_and_its_answer_is_ranked(self):
        class Last(Script):
            def _conclude(self, _, best, last):
                assert (best[1], last[1]) == (1, 3)
                return last

        found = once(Last(), ranks(9, 4, 7, 6, 5), max_iter=4)
        assert (found.state[1], found.rank) == (3, Rank(6, 1))
        assert once(Last(finish_at=0), ranks(9)).state[1] == 0  # nothing to conclude

    def test_history_has_one_entry_an_iteration(self):
        found = once(Script(finish_at=3), ranks(9, 4, 7, 6))
        assert {name: values.tolist() for name, values in found.history.items()} == {
            "mistakes": [9, 4, 7, 6],
            "place": [0, 1, 2, 3],
        }


class TestRestarts:
    def test_fewest_mistakes_win(self):
        found = run(Script(finish_at=1), [ranks(5, 4), ranks(9, 2), ranks(1, 3)])
        assert found.rank == Rank(2, 1)
        assert found.history["mistakes"].tolist() == [9, 2]

    def test_ties_go_to_the_earlier(self):
        starts = [ranks(4), ranks(2), ranks(2)]
        found = run(Script(finish_at=0), starts)
        assert found.state[0] is starts[1]

    def test_nothing_better_than_perfect(self):
        """No start is even made once a run has no mistakes and no criterion."""
        made = []

        def starts():
            for some_ranks in [ranks(3), ranks(0, criterion=0.0), ranks(0, criterion=0.0)]:
                made.append(some_ranks)
                yield some_ranks

        found = run(Script(finish_at=0), starts())
        assert found.rank == Rank(0, 0)
        assert len(made) == 2


class TestProgress:
    def speak(self, *callbacks):
        stopping, starts = Stopping(3), [(ranks(5), 0), (ranks(4), 0)]
        solver.run(Script(finish_at=1), "rows", starts, stopping, callbacks)

    def test_callbacks_see_every_step_and_end(self):
        seen = []

        class Seeing(solver.Callback):
            def on_step(self, run, iteration, state, measures):
                seen.append((run, iteration, state[1], measures["place"]))

            def on_end(self, run, iteration, measures, why):
                seen.append((run, iteration, why, measures["place"]))

        self.speak(solver.Callback(), Seeing())
        of_run = [(1, 1, 0), (2, 1, 1), (2, "finished", 1)]
        assert seen == [(number, *one) for number in (0, 1) for one in of_run]

    def test_a_line_for_each_start(self, capsys):
        self.speak(solver.PrintedProgress("Toy"))
        said = capsys.readouterr()
        assert said.err == ""
        assert said.out.splitlines() == [
            "Toy: start 1 finished after 2 iterations: mistakes 5, place 1",
            "Toy: start 2 finished after 2 iterations: mistakes 4, place 1",
        ]

    @pytest.mark.parametrize(
        ("learner", "patience", "word"),
        [(Script(), None, "stopped"), (Script(), 1, "settled"), (Script(1), None, "finished")],
    )
    def test_says_why_a_run_ended(self, capsys, learner, patience, word):
        progress = [solver.PrintedProgress("Toy")]
        solver.run(learner, "rows", [(ranks(5), 0)], Stopping(4, patience), progress)
        assert f"start 1 {word} after" in capsys.readouterr().out

    def test_long_runs_report_at_most_once_a_second(self, capsys, monkeypatch):
        clock = iter(np.arange(0, 1000, 0.25))
        now = [0.0]
        monkeypatch.setattr(solver.time, "monotonic", lambda: now[0])

        class Slow(Script):
            def _step(self, data, state):
                now[0] = float(next(clock))
                return super()._step(data, state)

        progress = [solver.PrintedProgress("Toy")]
        solver.run(Slow(), "rows", [(ranks(5), 0)], Stopping(20), progress)
        lines = [line for line in capsys.readouterr().out.splitlines() if "iteration " in line]
        assert len(lines) == 4  # 20 steps of a quarter of a second, the first at 0
        assert lines[0] == "Toy: start 1, iteration 5: mistakes 5, place 4"
