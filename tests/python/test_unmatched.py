"""Ranks in different calls of a file: all are told, nothing is done, and the file works on."""

import pytest

from conftest import tell_cases
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
    tell(lambda: calls[other if last else one](f, u, d, None))
    tell(lambda: f.write(u, d))
    tell(f.close)
    tell(lambda: is_right("m.npy"))
def with_wait(name, device, background):
    f = opened("m.npy", hints={"device": device})
    u, d = own(f)
    h = f.write_begin(u, d, background=background)
    both = [h.wait, lambda: calls[name](f, u, d, h)]
    for call in reversed(both) if last else both:
        tell(call)
    tell(f.close)
    wrote = name == "write" or name.startswith("begin")
    tell(lambda: is_right("m.npy", 2 if wrote else 1))
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
        result = tell(handles[i].wait)
        if how == "read":
            assert (result == rank + 1).all()
    tell(f.close)
    tell(lambda: is_right("o.npy"))
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
    tell(lambda: f.write(u, d) if last else h.wait())
    tell(lambda: f.sync() if last else f.write(u, d))
    tell(lambda: f.close() if last else f.sync())
    tell(f.close)
    tell(lambda: is_right("d.npy"))
@case
def one_more_on_one_rank():
    f = opened("x.npy")
    u, d = own(f)
    tell(lambda: f.write(u, d))
    tell(lambda: f.write(u, d) if last else f.close())
    tell(f.close)
    tell(lambda: is_right("x.npy"))
@case
def another_call_after_the_wait():
    f = opened("a.npy", hints={"device": SLOW})
    u, d = own(f)
    h = f.write_begin(u, d)
    tell(lambda: h.wait() if last else f.write(2 * u, d))
    tell(lambda: f.sync() if last else h.wait())
    tell(f.close)
    tell(lambda: is_right("a.npy"))
@case
def exception_in_with():
    def block():
        with opened("w.npy") as f:
            u, d = own(f)
            f.write(u, d)
            if last:
                raise RuntimeError("mine")
            f.write(u, d)
    tell(block)
@case
def exception_in_with_at_close():
    def block():
        with opened("w.npy") as f:
            u, d = own(f)
            f.write(u, d)
            if last:
                raise RuntimeError("mine")
    tell(block)
@case
def exception_in_with_of_one_of_two_nodes():
    def block():
        with opened("w.npy", hints={"ranks_per_node": 2}) as f:
            u, d = own(f)
            f.write(u, d)
            if last:
                raise RuntimeError("mine")
            f.write(u, d)
    tell(block)
@case
def exception_in_with_at_wait():
    def block():
        with opened("w.npy", hints={"device": SLOW}) as f:
            u, d = own(f)
            h = f.write_begin(u, d)
            if last:
                raise RuntimeError("mine")
            h.wait()
    tell(block)
@case
def after_close():
    f = opened("c.npy")
    u, d = own(f)
    f.close()
    for call in (lambda: f.write(u, d), lambda: f.read(d), f.sync, f.file_size, f.close):
        tell(call)
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
    tell(lambda: bool((h.wait() == u).all()))
for background in ("storage", "all", "none"):
    for method in ("extended", "direct"):
        cases[f"gone {background} {method}"] = lambda b=background, m=method: read_then_gone(b, m)
"""

CALLS = ["write", "read", "sync", "close", "file_size", "truncate", "begin none", "begin storage", "begin all",
         "read_begin"]
STARTED = ["write", "close", "sync", "read_begin"]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    return tell_cases(tmp_path_factory.mktemp("matrix"), MATRIX)[0]


@pytest.fixture(scope="module")
def handles(tmp_path_factory):
    return tell_cases(tmp_path_factory.mktemp("handles"), HANDLES)[0]


def classes(told):
    """Of each rank the classes of what its calls came to."""
    return [[name for name, _ in rank] for rank in told]


def check_refused(told):
    assert classes(told) == [["DisagreementError", "", "", ""]] * 3, told
    assert len({rank[0][1] for rank in told}) == 1, told
    assert "m.npy': ranks disagree on the operation: rank 0 is in " in told[0][0][1] and "nothing was done" in told[0][0][1]
    assert [rank[-1][1] for rank in told] == [True] * 3, told


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
    told = matrix[f"wait | {one}, {background} {device}"]
    assert classes(told) == [[""] * 4] * 3, told
    assert [rank[-1][1] for rank in told] == [True] * 3, told


@pytest.mark.parametrize("how", ["storage", "all", "none", "mixed", "read"])
def test_handles_are_waited_for_in_any_order(handles, how):
    told = handles["order " + how]
    assert classes(told) == [[""] * 5] * 3 and all(rank[-1][1] is True for rank in told), told


def test_a_handle_may_be_dropped_on_one_rank(handles):
    told = handles["dropped_on_one_rank"]
    assert classes(told) == [[""] * 5] * 3 and all(rank[-1][1] is True for rank in told), told


def test_one_write_more_on_one_rank(handles):
    told = handles["one_more_on_one_rank"]
    assert classes(told) == [["", "DisagreementError", "", ""]] * 3, told
    assert len({rank[1][1] for rank in told}) == 1 and "close" in told[0][1][1]
    assert all(rank[-1][1] is True for rank in told)


def test_ranks_that_differ_after_a_wait(handles):
    told = handles["another_call_after_the_wait"]
    assert classes(told) == [["DisagreementError", "", "", ""]] * 2 + [["", "DisagreementError", "", ""]], told
    assert told[0][0] == told[2][1] and all(rank[-1][1] is True for rank in told), told


@pytest.mark.parametrize("where", ["", "_at_close", "_at_wait", "_of_one_of_two_nodes"])
def test_an_exception_on_one_rank_ends_the_call_of_the_others(handles, where):
    told = handles["exception_in_with" + where]
    assert classes(told) == [["StateError"], ["StateError"], ["RuntimeError"]], told
    assert told[0] == told[1] and "rank 2 has let go of 'w.npy'" in told[0][0][1]


def test_calls_after_close(handles):
    assert classes(handles["after_close"]) == [["StateError"] * 4 + [""]] * 3


@pytest.mark.parametrize("background, method", [
    ("storage", "extended"), ("storage", "direct"), ("all", "extended"), ("all", "direct"),
    ("none", "extended"), ("none", "direct")])
def test_reads_of_a_file_that_was_left_by_an_exception(handles, background, method):
    told = handles[f"gone {background} {method}"]
    assert len(set(map(tuple, classes(told)))) == 1, told
    assert told[0][0][0] == "StateError" or [rank[0] for rank in told] == [["", True]] * 3, told
