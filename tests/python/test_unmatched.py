"""Ranks in different calls of a file: all get an error, nothing is done, and the file is still usable."""

import pytest

from conftest import case_outcomes
from scripts import CASES, SLOW

pytestmark = pytest.mark.ranks

# All pairs of calls, the last rank in the second one. Where one of them is a wait it is legal: the
# ranks make both calls, in different orders.
MATRIX = CASES + """
calls = {
    "write": lambda f, u, d, h: f.write(2 * u, d),
    "read": lambda f, u, d, h: f.read(d),
    "sync": lambda f, u, d, h: f.sync(),
    "close": lambda f, u, d, h: f.close(),
    "file_size": lambda f, u, d, h: f.file_size(),
    "truncate": lambda f, u, d, h: f.truncate(5000),
    "begin none": lambda f, u, d, h: f.write_begin(2 * u, d, background="none").wait(),
    "begin storage": lambda f, u, d, h: f.write_begin(2 * u, d).wait(),
    "begin all": lambda f, u, d, h: f.write_begin(2 * u, d, background="all").wait(),
    "read_begin": lambda f, u, d, h: f.read_begin(d).wait(),
}
def meet(one, other, before):
    f = opened("m.npy")
    u, d = own(f)
    before(f, u, d)
    record(lambda: calls[other if last else one](f, u, d, None))
    record(lambda: f.write(u, d))
    record(f.close)
    record(lambda: is_right("m.npy"))
def with_wait(name, device, background):
    f = opened("m.npy", hints={"device": device})
    u, d = own(f)
    h = f.write_begin(u, d, background=background)
    both = [h.wait, lambda: calls[name](f, u, d, h)]
    for call in reversed(both) if last else both:
        record(call)
    record(f.close)
    wrote = name == "write" or name.startswith("begin")
    record(lambda: is_right("m.npy", 2 if wrote else 1))
def started(f, u, d):  # a thread of its own is at work on it
    f.write_begin(u, d, background="all").wait()
def add(name, function, *of):
    cases[name] = lambda: function(*of)
names = list(calls)
for i, one in enumerate(names):
    for j, other in enumerate(names[:i]):
        add(f"{one} | {other}", meet, *((one, other) if (i + j) % 2 else (other, one)), lambda *_: None)
    for device, background in (("", "storage"), (SLOW, "storage"), (SLOW, "all")):
        add(f"wait | {one}, {background} {device}", with_wait, one, device, background)
for one in ("write", "close", "sync", "read_begin"):
    add(f"begin all | {one}, started", meet, "begin all", one, started)
    add(f"{one} | begin all, started", meet, one, "begin all", started)
"""

HANDLES = CASES + """
def begun(name, how):
    f = opened(name, hints={"device": SLOW})
    u, d = own(f)
    if how == "read":
        f.write(u, d)
        f.sync()
        return f, [f.read_begin(d) for _ in range(3)]
    backgrounds = {"mixed": ("storage", "all", "none")}.get(how, (how,) * 3)
    return f, [f.write_begin((3 - i) * u, d, background=b) for i, b in enumerate(backgrounds)]
def any_order(how):
    f, handles = begun("o.npy", how)
    order = [(0, 1, 2), (2, 0, 1), (1, 2, 0)][rank]
    for i in order:
        result = record(handles[i].wait)
        if how == "read":
            assert (result == rank + 1).all()
    record(f.close)
    record(lambda: is_right("o.npy"))
for how in ("storage", "all", "none", "mixed", "read"):
    cases["order " + how] = lambda how=how: any_order(how)
@case
def dropped_on_one_rank():
    f = opened("d.npy", hints={"device": SLOW})
    u, d = own(f)
    h = f.write_begin(u, d)
    if last:
        h = None
        gc.collect()
    record(lambda: f.write(u, d) if last else h.wait())
    record(lambda: f.sync() if last else f.write(u, d))
    record(lambda: f.close() if last else f.sync())
    record(f.close)
    record(lambda: is_right("d.npy"))
@case
def one_more_on_one_rank():
    f = opened("x.npy")
    u, d = own(f)
    record(lambda: f.write(u, d))
    record(lambda: f.write(u, d) if last else f.close())
    record(f.close)
    record(lambda: is_right("x.npy"))
@case
def another_call_after_the_wait():
    f = opened("a.npy", hints={"device": SLOW})
    u, d = own(f)
    h = f.write_begin(u, d)
    record(lambda: h.wait() if last else f.write(2 * u, d))
    record(lambda: f.sync() if last else h.wait())
    record(f.close)
    record(lambda: is_right("a.npy"))
@case
def exception_in_with():
    def block():
        with opened("w.npy") as f:
            u, d = own(f)
            f.write(u, d)
            if last:
                raise RuntimeError("mine")
            f.write(u, d)
    record(block)
@case
def exception_in_with_at_close():
    def block():
        with opened("w.npy") as f:
            u, d = own(f)
            f.write(u, d)
            if last:
                raise RuntimeError("mine")
    record(block)
@case
def exception_in_with_of_one_of_two_nodes():
    def block():
        with opened("w.npy", hints={"ranks_per_node": 2}) as f:
            u, d = own(f)
            f.write(u, d)
            if last:
                raise RuntimeError("mine")
            f.write(u, d)
    record(block)
@case
def exception_in_with_at_wait():
    def block():
        with opened("w.npy", hints={"device": SLOW}) as f:
            u, d = own(f)
            h = f.write_begin(u, d)
            if last:
                raise RuntimeError("mine")
            h.wait()
    record(block)
@case
def after_close():
    f = opened("c.npy")
    u, d = own(f)
    f.close()
    for call in (lambda: f.write(u, d), lambda: f.read(d), f.sync, f.file_size, f.close):
        record(call)
def read_then_gone(background, method):
    f = opened("r.npy")
    u, d = own(f)
    f.write(u, d)
    f.close()
    h = None
    try:
        with opened("r.npy", "r", hints={"device": SLOW}) as f:
            h = f.read_begin(d, out=np.full(u.shape, -7.0), background=background, method=method)
            raise RuntimeError
    except RuntimeError:
        pass
    record(lambda: bool((h.wait() == u).all()))
for background in ("storage", "all", "none"):
    for method in ("extended", "direct"):
        cases[f"gone {background} {method}"] = lambda b=background, m=method: read_then_gone(b, m)
"""

CALLS = ["write", "read", "sync", "close", "file_size", "truncate", "begin none", "begin storage", "begin all",
         "read_begin"]
STARTED = ["write", "close", "sync", "read_begin"]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    return case_outcomes(tmp_path_factory.mktemp("matrix"), MATRIX)[0]


@pytest.fixture(scope="module")
def handles(tmp_path_factory):
    return case_outcomes(tmp_path_factory.mktemp("handles"), HANDLES)[0]


def classes(outcomes):
    """For each rank, the error classes of its calls."""
    return [[name for name, _ in rank] for rank in outcomes]


def check_refused(outcomes):
    assert classes(outcomes) == [["DisagreementError", "", "", ""]] * 3, outcomes
    assert len({rank[0][1] for rank in outcomes}) == 1, outcomes
    assert "m.npy': ranks disagree on the operation: rank 0 is in " in outcomes[0][0][1] and "nothing was done" in outcomes[0][0][1]
    assert [rank[-1][1] for rank in outcomes] == [True] * 3, outcomes


def test_all_pairs_are_there(matrix):
    assert len([name for name in matrix if set(name.split(" | ")) <= set(CALLS)]) == len(CALLS) * (len(CALLS) - 1) // 2


@pytest.mark.parametrize("one", CALLS)
def test_two_calls_that_meet(matrix, one):
    for name in [name for name in matrix if one in name.split(" | ") and "wait" not in name]:
        check_refused(matrix[name])


@pytest.mark.parametrize("one", STARTED)
def test_a_call_meets_one_of_the_files_own_thread(matrix, one):
    check_refused(matrix[f"{one} | begin all, started"])
    check_refused(matrix[f"begin all | {one}, started"])


@pytest.mark.parametrize("device, background", [("", "storage"), (SLOW, "storage"), (SLOW, "all")])
@pytest.mark.parametrize("one", CALLS)
def test_a_wait_may_meet_any_call(matrix, one, device, background):
    outcomes = matrix[f"wait | {one}, {background} {device}"]
    assert classes(outcomes) == [[""] * 4] * 3, outcomes
    assert [rank[-1][1] for rank in outcomes] == [True] * 3, outcomes


@pytest.mark.parametrize("how", ["storage", "all", "none", "mixed", "read"])
def test_handles_are_waited_for_in_any_order(handles, how):
    outcomes = handles["order " + how]
    assert classes(outcomes) == [[""] * 5] * 3 and all(rank[-1][1] is True for rank in outcomes), outcomes


def test_a_handle_may_be_dropped_on_one_rank(handles):
    outcomes = handles["dropped_on_one_rank"]
    assert classes(outcomes) == [[""] * 5] * 3 and all(rank[-1][1] is True for rank in outcomes), outcomes


def test_one_write_more_on_one_rank(handles):
    outcomes = handles["one_more_on_one_rank"]
    assert classes(outcomes) == [["", "DisagreementError", "", ""]] * 3, outcomes
    assert len({rank[1][1] for rank in outcomes}) == 1 and "close" in outcomes[0][1][1]
    assert all(rank[-1][1] is True for rank in outcomes)


def test_ranks_that_differ_after_a_wait(handles):
    outcomes = handles["another_call_after_the_wait"]
    assert classes(outcomes) == [["DisagreementError", "", "", ""]] * 2 + [["", "DisagreementError", "", ""]], outcomes
    assert outcomes[0][0] == outcomes[2][1] and all(rank[-1][1] is True for rank in outcomes), outcomes


@pytest.mark.parametrize("where", ["", "_at_close", "_at_wait", "_of_one_of_two_nodes"])
def test_an_exception_on_one_rank_ends_the_call_of_the_others(handles, where):
    outcomes = handles["exception_in_with" + where]
    assert classes(outcomes) == [["StateError"], ["StateError"], ["RuntimeError"]], outcomes
    assert outcomes[0] == outcomes[1] and "rank 2 has abandoned 'w.npy'" in outcomes[0][0][1]


def test_calls_after_close(handles):
    assert classes(handles["after_close"]) == [["StateError"] * 4 + [""]] * 3


@pytest.mark.parametrize("background, method", [
    ("storage", "extended"), ("storage", "direct"), ("all", "extended"), ("all", "direct"),
    ("none", "extended"), ("none", "direct")])
def test_reads_of_a_file_that_was_left_by_an_exception(handles, background, method):
    outcomes = handles[f"gone {background} {method}"]
    assert len(set(map(tuple, classes(outcomes)))) == 1, outcomes
    assert outcomes[0][0][0] == "StateError" or [rank[0] for rank in outcomes] == [["", True]] * 3, outcomes
