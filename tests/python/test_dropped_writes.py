"""Writes that were dropped because an earlier one failed: every handle reports that, on every rank."""

import pytest

from conftest import case_outcomes
from scripts import CASES

pytestmark = pytest.mark.ranks

# Slow enough that all writes are queued before the first is done. Each rank has one unit a write, so
# that the victim's N-th write to storage is its N-th write of the file.
DROPPED = CASES + """
n, victim = 1 << 15, 1
mine = slice(rank * n, (rank + 1) * n)
def filled(value):
    return np.full(n, value, "u1")
def make(failing, method):
    device = f"fault:write@{failing}=EIO,rank={victim}+paced:bandwidth=2M"
    return ps.open("d.raw", "w", shape=(size * n,), dtype="u1", comm=comm, hints={
        "device": device, "method": method, "aggregators": size, "buffer_size": n, "pipeline": "never"})
def fails(handle):
    try:
        handle.wait()
    except ps.StorageError as error:
        assert error.errno == errno.EIO and error.rank == victim and error.path == "d.raw", error
        raise
def check_content(value):
    comm.Barrier()
    return bool((np.fromfile("d.raw", "u1") == value).all())
def again(f):  # the failure was outcomes: all is well from here on
    record(lambda: f.write(filled(9), mine))
    record(f.sync)
    record(lambda: check_content(9))
    record(f.close)
def run(background, method, order):
    f = make(1, method)
    handles = [f.write_begin(filled(1 + i), mine, background=background) for i in range(4)]
    for i in order:
        record(lambda: fails(handles[i]))
    again(f)
    for h in handles:
        record(h.wait)  # outcomes once
for background in ("storage", "all"):
    for method in ("extended", "direct"):
        for order in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)):
            cases[f"{background} {method} {order}"] = lambda b=background, m=method, o=order: run(b, m, o)
@case
def failure_known_before():
    f = make(1, "extended")
    handles = [f.write_begin(filled(1 + i), mine) for i in range(4)]
    while not all(h.test() for h in handles):
        time.sleep(0.01)
    comm.Barrier()
    for h in handles:
        record(lambda: fails(h))
    again(f)
@case
def orders_differ():
    f = make(1, "extended")
    handles = [f.write_begin(filled(1 + i), mine) for i in range(4)]
    for i in [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)][rank]:
        try:
            fails(handles[i])
            failed = ""
        except ps.StorageError as error:
            failed = str(error)
        handles[i] = failed
    for failed in handles:
        record(lambda: failed)
    again(f)
def closed_at_once(background):
    f = make(0, "extended")
    handles = [f.write_begin(filled(1 + i), mine, background=background) for i in range(2)]
    record(f.close)
    record(lambda: f.closed)
for background in ("storage", "all"):
    cases["close " + background] = lambda b=background: closed_at_once(b)
@case
def without_background():
    f = make(1, "extended")
    record(lambda: f.write_begin(filled(1), mine, background="none").wait())
    record(lambda: fails(f.write_begin(filled(2), mine, background="none")))
    record(lambda: f.write_begin(filled(3), mine, background="none").wait())
    record(f.close)
    record(lambda: check_content(3))
"""


@pytest.fixture(scope="module")
def dropped(tmp_path_factory):
    return case_outcomes(tmp_path_factory.mktemp("dropped"), DROPPED)[0]


def told_alike(outcomes):
    assert outcomes[0] == outcomes[1] == outcomes[2], outcomes
    return outcomes[0]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)], ids=str)
@pytest.mark.parametrize("method", ["extended", "direct"])
@pytest.mark.parametrize("background", ["storage", "all"])
def test_every_handle_of_a_dropped_write_says_so(dropped, background, method, order):
    outcomes = told_alike(dropped[f"{background} {method} {order}"])
    waits, later = outcomes[:4], outcomes[4:]
    kinds = {i: kind for i, (kind, _) in zip(order, waits)}
    assert kinds == {0: "", 1: "StorageError", 2: "StorageError", 3: "StorageError"}, waits
    assert later == [["", ""], ["", ""], ["", True], ["", ""]] + [["", ""]] * 4, later
    errors = {i: words for i, (kind, words) in zip(order, waits) if kind}
    first = next(iter(errors))
    for i, words in errors.items():
        assert "for write 2 of the file" in words, words
        dropped_too = "2 buffered units after it" if i == first else f"write {i + 1}, which came after it, was dropped"
        assert i == 1 or dropped_too in words, words


def test_a_handle_before_the_failure_does_not_raise_it(dropped):
    outcomes = told_alike(dropped["failure_known_before"])
    assert [kind for kind, _ in outcomes] == ["", *["StorageError"] * 3, "", "", "", ""], outcomes


def test_handles_waited_for_in_different_orders(dropped):
    outcomes = told_alike(dropped["orders_differ"])
    assert [bool(words) for _, words in outcomes[:4]] == [False, True, True, True], outcomes
    assert outcomes[4:] == [["", ""], ["", ""], ["", True], ["", ""]], outcomes


@pytest.mark.parametrize("background", ["storage", "all"])
def test_close_tells_what_no_handle_was_asked_for(dropped, background):
    outcomes = told_alike(dropped["close " + background])
    assert outcomes[0][0] == "StorageError" and "for write 1 of the file" in outcomes[0][1] and outcomes[1][1] is True


def test_without_background_each_write_tells_its_own(dropped):
    outcomes = told_alike(dropped["without_background"])
    assert [kind for kind, _ in outcomes] == ["", "StorageError", "", "", ""] and outcomes[-1][1] is True
