"""Errors in the background reach the program, on all ranks, and nothing is written out of order."""

import pytest

from scripts import HEAD

# Where a call does not fit the budget, the page cache takes it without a buffer; a device does not.
DEVICE = "paced:bandwidth=1000G"

# Every unit of one rank fails in turn. Each call writes a block of rows of its own, so that the missing bytes show
# which units were not written.
EVERY_UNIT = """
victim, calls, unit = size // 2, 3, 2048
columns = 64 * size
rows = 4 * unit // 64
block = rows * columns  # bytes of a call
at_open = {"active_buffer_size": BUDGET, "buffer_size": unit, "aggregators": size, "pipeline": "never", **CONFIG}
def section(call):
    if CONFIG["method"] == "extended":  # columns dealt in turn: every rank sends to every other
        return slice(call * rows, (call + 1) * rows), slice(rank, None, size)
    first = call * rows + rank * rows // size
    return slice(first, call * rows + (rank + 1) * rows // size), slice(None)
def data(call):
    lines, columns_of = section(call)
    return np.full((lines.stop - lines.start, len(range(columns)[columns_of])), call + 1, "u1")
def opened(device):
    layers = "+".join(layer for layer in (device, DEVICE) if layer)
    return ps.open("a", "w", shape=(calls * rows, columns), dtype="u1", comm=comm, hints={**at_open, "device": layers})
with opened("") as f:
    for call in range(calls):
        f.write(data(call), section(call))
    f.sync()
    units = comm.bcast(f.statistics.writes, victim)
    assert units >= (calls if CONFIG["method"] == "direct" else 2 * calls), units
failed_in = set()
for at in range(units):
    for what in ("EIO", "ENOSPC", "EDQUOT", "short"):
        f, caught, done = opened(f"fault:write@{at}={what},rank={victim}"), None, 0
        try:
            for call in range(calls):
                f.write(data(call), section(call))
                done += 1
            f.sync()
        except ps.StorageError as error:
            caught = error
        f.file_size()  # the other ranks' units of these writes are in the file then
        texts = comm.allgather(str(caught))
        assert len(set(texts)) == 1 and len(set(comm.allgather(done))) == 1, texts
        comm.Barrier()
        content = np.fromfile("a", "u1").reshape(calls, block)
        comm.Barrier()
        if what == "short":
            assert caught is None and (content == np.arange(1, calls + 1)[:, None]).all()
            f.close()
            continue
        assert caught is not None, (at, what)
        # Missing: in the call that failed, the end of what the victim had to write; in those after it,
        # all that it had to write; a call that raised did nothing at all.
        missing = [np.flatnonzero(content[call] != call + 1) for call in range(calls)]
        for holes in missing:
            assert len(holes) == 0 or len(holes) == holes[-1] - holes[0] + 1, "written after the unit that failed"
        first = next(call for call in range(calls) if len(missing[call]))
        failed_in.add(first)
        for call in range(first + 1, done):
            assert missing[call][-1] == missing[first][-1] and missing[call][0] <= missing[first][0], (at, first, call)
            assert len(missing[call]) == len(missing[min(first + 1, done - 1)])
        for call in range(done, calls):
            assert len(missing[call]) == block and not content[call].any()
        assert caught.errno == getattr(errno, what) and caught.path == "a" and caught.rank == victim, texts
        assert caught.offset == first * block + missing[first][0], (caught, missing[first][:1])
        assert f"for write {first + 1} of the file" in texts[0] and os.strerror(caught.errno) in texts[0], texts
        assert (size == 1) or texts[0].startswith(f"rank {victim}: "), texts
        for call in range(calls):  # the file works again
            f.write(data(call), section(call))
        f.sync()
        assert (np.fromfile("a", "u1").reshape(calls, block) == np.arange(1, calls + 1)[:, None]).all()
        assert (f.read(section(0)) == 1).all()
        f.close()
assert failed_in == set(range(calls)), failed_in
print("all units")
"""


CONFIGS = {"-".join(config.values()): config for config in (
    {"method": "direct"},
    {"method": "sieved"},
    {"method": "extended", "exchange": "node"},
    {"method": "extended", "exchange": "sparse"},
    {"method": "extended", "exchange": "node", "ranks_per_node": "2"},
)}


# With a small budget units are written while others come; with a large one all are pending when one fails.
@pytest.mark.parametrize("name, budget, ranks", [
    pytest.param(name, budget, ranks, marks=[] if ranks == 3 and (budget == "4096" or name == "extended-node") else pytest.mark.slow)
    for name in CONFIGS for budget in ("4096", "64M") for ranks in (3, 1, 4)])
def test_every_unit_fails_in_turn(mpirun, name, budget, ranks):
    device = DEVICE if budget == "4096" else ""
    output = mpirun(HEAD + f"CONFIG, BUDGET, DEVICE = {CONFIGS[name]!r}, {budget!r}, {device!r}\n" + EVERY_UNIT, ranks)
    assert output.count("all units") == ranks


# The same error at whatever call comes next, on all ranks, once.
NEXT_CALL = """
n = 1 << 14
mine = slice(rank * n, (rank + 1) * n)
ones = np.ones(n, "u1")
nexts = {
    "write": lambda f, h: f.write(ones, mine), "read": lambda f, h: f.read(mine),
    "write_begin": lambda f, h: f.write_begin(ones, mine), "read_begin": lambda f, h: f.read_begin(mine).wait(),
    "write_begin none": lambda f, h: f.write_begin(ones, mine, background="none"),
    "write_begin all": lambda f, h: f.write_begin(ones, mine, background="all").wait(),
    "read_begin all": lambda f, h: f.read_begin(mine, background="all").wait(),
    "wait": lambda f, h: h.wait(), "sync": lambda f, h: f.sync(), "file_size": lambda f, h: f.file_size(),
    "truncate": lambda f, h: f.truncate(size * n), "close": lambda f, h: f.close(),
    "close wait": lambda f, h: f.close(wait=False).wait(),
    "unbuffered": lambda f, h: f.write(ones, mine, active_buffer_size=0),
    "write nothing": lambda f, h: f.write(None, None),
    "write by another method": lambda f, h: f.write(ones, mine, method="gather"),
}
victim = size - 1
for method in ("direct", "sieved", "extended"):
    for background in ("write", "storage", "all"):
        for name, call in nexts.items():
            if name == "wait" and background == "write":
                continue
            where = (method, background, name)
            f = ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm,
                        hints={"device": f"fault:write@0=EIO,rank={victim}", "method": method, "aggregators": size})
            h = None
            if background == "write":
                f.write(ones, mine)
            else:
                h = f.write_begin(ones, mine, background=background)
            begin = time.monotonic()
            try:
                call(f, h)
                # A buffered write need not wait for those before it: it tells as soon as it is known.
                while "write" in name and time.monotonic() - begin < 20:
                    time.sleep(0.01)
                    comm.Barrier()
                    call(f, h)
            except ps.StorageError as error:
                assert error.errno == errno.EIO and error.rank == victim and error.path == "a", where
                assert error.offset == victim * n and "for write 1 of the file" in str(error), (where, error)
                assert len(set(comm.allgather(str(error)))) == 1
            else:
                raise AssertionError(("no error", where))
            assert time.monotonic() - begin < 20
            assert f.closed == name.startswith("close"), where
            if not f.closed:  # it was reported; no errors from here on
                f.write(ones, mine)
                f.sync()
                assert (f.read(mine) == 1).all()
                f.close()
            if h is not None:  # its bytes are not in the file, whoever got the error first
                try:
                    h.wait()
                except ps.StorageError:
                    assert name != "wait", where
                else:
                    assert name == "wait", where
            f.close()
print("all calls")
"""


@pytest.mark.parametrize("ranks", [3, pytest.param(1, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)])
def test_the_next_call_raises_whatever_it_is(mpirun, ranks):
    output = mpirun(HEAD + NEXT_CALL, ranks)
    assert output.count("all calls") == ranks and "LOST" not in output


def test_an_error_belongs_to_its_file(mpirun):
    mpirun(HEAD + """
n = 1 << 14
mine, ones = slice(rank * n, (rank + 1) * n), np.ones(n, "u1")
good = [ps.open(f"g{i}", "w", shape=(size * n,), dtype="u1", comm=comm) for i in range(2)]
bad = ps.open("b", "w", shape=(size * n,), dtype="u1", comm=comm, hints={"device": "fault:write@0=ENOSPC,rank=1"})
handles = []
for f in (good[0], bad, good[1], bad, good[0]):
    try:
        handles.append(f.write_begin(ones, mine))
    except ps.StorageError as error:
        assert f is bad and error.path == "b"
for f in good:
    f.sync()
    f.close()
try:
    bad.close()
except ps.StorageError as error:
    assert error.errno == errno.ENOSPC
assert bad.closed
for i in range(2):
    assert (np.fromfile(f"g{i}", "u1") == 1).all()
""", 3)


def test_two_handles_of_one_file_share_its_error(mpirun):
    mpirun(HEAD + """
n = 1 << 14
mine, ones = slice(rank * n, (rank + 1) * n), np.ones(n, "u1")
a = ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints={"device": "fault:write@0=ENOSPC,rank=1"})
b = ps.open("a", "r+", shape=(size * n,), dtype="u1", comm=comm)
a.write(ones, mine)
errors = 0
for f in (b, a, b, a):
    try:
        f.sync()
    except ps.StorageError as error:
        assert error.errno == errno.ENOSPC and "for write 1" in str(error)
        errors += 1
assert errors == 1
b.write(ones, mine)
assert (a.read(slice(0, size * n)) == 1).all()
a.close(); b.close()
""", 3)


def test_a_sync_that_fails_is_told(mpirun):
    mpirun(HEAD + """
f = ps.open("a", "w", shape=(size,), dtype="u1", comm=comm, hints={"device": "fault:sync@0=EIO,rank=1"})
f.write(np.array([rank], "u1"), slice(rank, rank + 1))
try:
    f.sync()
except ps.StorageError as error:
    assert error.errno == errno.EIO and error.rank == 1
else:
    raise AssertionError("no error")
f.sync()
f.close()
""", 3)


@pytest.mark.parametrize("reported", [True, False])
def test_a_failure_outlives_a_call_on_which_the_ranks_disagreed(mpirun, reported):
    """The agreement on entry of that call had taken it. The next call reports it, or else the file's end."""
    output = mpirun(HEAD + f"reported = {reported}\n" + """
n = 1 << 16
f = ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm,
            hints={"device": "fault:write@0+=ENOSPC,rank=1", "method": "direct"})
h = f.write_begin(np.ones(n, "u1"), slice(rank * n, (rank + 1) * n), background="storage")
while not h.test():
    time.sleep(0.01)
comm.Barrier()
try:
    f.sync() if rank else f.read(...)
except ps.DisagreementError:
    pass
else:
    raise AssertionError("two calls met")
if reported:
    try:
        f.sync()
    except ps.StorageError as error:
        assert error.errno == errno.ENOSPC and error.rank == 1, error
    else:
        raise AssertionError("the failure was not reported")
    f.close()
else:
    del f, h
""", 3)
    assert output.count("LOST DATA") == (0 if reported else 1), output


@pytest.mark.parametrize("call", ["close", "sync", "file_size", "write"])
def test_a_begun_read_does_not_swallow_the_error_of_a_write(mpirun, call):
    mpirun(HEAD + f"call = {call!r}" + """
n = 1 << 20
mine, data = slice(rank * n, (rank + 1) * n), np.ones(n, "u1")
# The first write keeps the thread busy while the read begins; the second one fails then.
hints = {"device": f"fault:write@4=EIO,rank={size - 1}+paced:bandwidth=10M", "method": "extended", "aggregators": size,
         "buffer_size": n, "pipeline": "never"}
f = ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints=hints)
for _ in range(5):
    f.write(data, mine)
h = f.read_begin(mine)
calls = {"close": f.close, "sync": f.sync, "file_size": f.file_size, "write": lambda: f.write(data, mine)}
try:
    calls[call]()
    if call == "write":
        f.sync()
except ps.StorageError as error:
    assert error.errno == errno.EIO and "for write 5 of the file" in str(error), error
else:
    raise AssertionError("no rank got the error")
h.wait()
f.close()
""", 3, timeout=60)


@pytest.mark.parametrize("method", ["direct", "sieved", "extended"])
@pytest.mark.parametrize("device", ["", "+paced:bandwidth=50M"])
@pytest.mark.parametrize("background", ["storage", "all"])
def test_errors_of_begun_reads_outlive_the_file(mpirun, method, device, background):
    mpirun(HEAD + f"method, device, background = {method!r}, {device!r}, {background!r}" + """
n = 1 << 18
mine = slice(rank * n, (rank + 1) * n)
np.zeros(size * n, "u1").tofile("a") if rank == 0 else None
comm.Barrier()
hints = {"device": f"fault:read@0=EIO,rank={size - 1}" + device, "method": method, "aggregators": size}
f = ps.open("a", shape=(size * n,), dtype="u1", comm=comm, hints=hints)
h = f.read_begin(mine, background=background)
f.close()
error = same(ps.StorageError, "Input/output error", h.wait)
assert error.rank == size - 1 and error.errno == errno.EIO, error
""", 3, timeout=60)
