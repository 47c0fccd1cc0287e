"""Writes and reads in the background, and their handles."""

import pytest

from scripts import HEAD


@pytest.mark.parametrize("background", ["storage", "all"])
@pytest.mark.parametrize("method", ["direct", "sieved", "extended"])
def test_nothing_is_needed_between_begin_and_wait(mpirun, method, background):
    """The modelled device takes 1 s for each operation, and nobody calls anything meanwhile."""
    output = mpirun(HEAD + f"""
method, background = {method!r}, {background!r}
""" + """
total = 6 << 20
hints = {"device": "paced:bandwidth=6M,latency=1ms", "method": method, "buffer_size": "1M"}
mine = slice(rank * total // size, (rank + 1) * total // size)
data = np.random.default_rng(rank).integers(0, 256, total // size, "u1")
with ps.open("a", "w", shape=(total,), dtype="u1", comm=comm, hints=hints) as f:
    for begin in (lambda: f.write_begin(data, mine, background=background),
                  lambda: f.read_begin(mine, background=background)):
        comm.Barrier()
        start = time.perf_counter()
        h = begin()
        begun = time.perf_counter() - start
        over_at_once = h.test()
        time.sleep(3)
        assert h.test()
        start = time.perf_counter()
        result = h.wait()
        waited = time.perf_counter() - start
        assert begun < 0.7 and waited < 0.7, (begun, waited)
        assert not all(comm.allgather(over_at_once))  # a rank that does not touch the file has nothing to do
    assert np.array_equal(result, data)
print("went on")
""", 3, timeout=40)
    assert output.count("went on") == 3


@pytest.mark.parametrize("ranks", [1, 3])
def test_memory_belongs_to_the_program_once_copied(mpirun, ranks):
    mpirun(HEAD + """
n = 1 << 18
mine = slice(rank * n, (rank + 1) * n)
for method in ("direct", "sieved", "gather", "two-phase", "extended"):
    for background in ("none", "storage", "all"):
        with ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints={"device": "paced:bandwidth=20M"}) as f:
            data = np.full(n, rank + 1, "u1")
            h = f.write_begin(data, mine, method=method, background=background)
            assert h.copied() is True and h.copied(wait=False) is True
            data[:] = 99
            assert h.wait() is None
            assert h.wait() is None and h.test() and h.copied()
            out = np.zeros(n, "u1")
            r = f.read_begin(mine, out=out, method=method, background=background)
            assert r.wait() is out and r.wait() is out and r.test() and r.copied()
            assert (out == rank + 1).all(), (method, background)
        content = np.fromfile("a", "u1").reshape(size, n)
        assert (content == np.arange(1, size + 1)[:, None]).all(), (method, background)
        comm.Barrier()
""", ranks, timeout=40)


@pytest.mark.parametrize("background", ["none", "storage", "all"])
def test_the_program_may_let_go_of_everything(mpirun, background):
    """The arrays and the handles are dropped, and their memory is used for something else."""
    mpirun(HEAD + f"background = {background!r}" + """
n, count = 1 << 16, 12
hints = {"device": "paced:bandwidth=20M"}
with ps.open("a", "w", shape=(count, size * n), dtype="u1", comm=comm, hints=hints) as f:
    for i in range(count):
        method = ("direct", "sieved", "extended")[i % 3]
        f.write_begin(np.full((1, n), 10 * i + rank, "u1"), (slice(i, i + 1), slice(rank * n, (rank + 1) * n)),
                      method=method, background=background)
        gc.collect()
        rubbish = [np.full((1, n), 255, "u1") for _ in range(4)]
        if i % 4 == 0:
            f.read_begin((slice(0, 1), slice(0, 100)), method=method, background=background)
content = np.fromfile("a", "u1").reshape(count, size, n)
assert (content == (10 * np.arange(count)[:, None] + np.arange(size))[:, :, None]).all()
""", 3, timeout=40)


def test_reads_in_flight_give_what_was_there_when_they_began(mpirun):
    mpirun(HEAD + """
n = 1 << 16
everything = slice(0, size * n)
for background in ("storage", "all"):
    for method in ("direct", "sieved", "extended"):
        hints = {"device": "paced:bandwidth=100M"}  # so that reads wait for their turn
        with ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints=hints) as f:
            reads = []
            for turn in range(5):
                f.write(np.full(n, 10 * turn + rank, "u1"), slice(rank * n, (rank + 1) * n), method=method)
                reads.append([f.read_begin(everything, method=method, background=background) for _ in range(3)])
            for turn in (4, 0, 3, 1, 2):  # in any order, if only the same everywhere
                for h in reads[turn]:
                    assert (h.wait().reshape(size, n) == 10 * turn + np.arange(size)[:, None]).all(), (turn, method)
""", 3, timeout=40)


@pytest.mark.parametrize("method", ["direct", "sieved", "extended"])
@pytest.mark.parametrize("background", ["storage", "all"])
def test_a_write_does_not_overtake_a_read_of_another_rank(mpirun, method, background):
    """Rank 0's queue is busy with another part of the file, rank 1's is idle."""
    mpirun(HEAD + f"method, background = {method!r}, {background!r}" + """
n = 1 << 19
everything, some = slice(0, n), slice(0, 100)
hints = {"method": method, "device": "paced:bandwidth=2M"}
with ps.open("a", "w", shape=(2 * n,), dtype="u1", comm=comm, hints=hints) as f:
    for turn in range(1, 4):
        f.write(np.full(n, turn, "u1") if rank == 0 else None, everything if rank == 0 else None)
        f.sync()
        f.write(np.ones(n, "u1") if rank == 0 else None, slice(n, 2 * n) if rank == 0 else None, method="direct")
        h = f.read_begin(some if rank == 0 else None, background=background)
        f.write(np.full(100, 99, "u1") if rank == 1 else None, some if rank == 1 else None)
        got = h.wait()
        assert rank != 0 or (got == turn).all(), got
        assert (f.read(some) == 99).all()
""", 2, timeout=40)


@pytest.mark.parametrize("call", ["truncate(size)", "file_size()", "sync()", "write(one, mine)", "read(mine)",
                                  "close(wait=False)", "close()"])
def test_other_calls_keep_in_step_with_the_thread(mpirun, call):
    mpirun(HEAD + """
one, mine = np.array([rank], "u1"), slice(rank, rank + 1)
for turn in range(30):
    f = ps.open("a", "w", shape=(size,), dtype="u1", comm=comm)
    handles = [f.write_begin(one, mine, background="all"), f.read_begin(mine, background="all")]
    f.CALL
    for h in handles:
        h.wait()
    f.close()
""".replace("CALL", call), 3, timeout=40)


@pytest.mark.parametrize("method", ["direct", "sieved", "extended"])
def test_reads_queue_up_behind_each_other(mpirun, method):
    mpirun(HEAD + f"method = {method!r}" + """
n = 1 << 20
hints = {"device": "paced:bandwidth=2M", "method": method}
with ps.open("a", "w", shape=(n,), dtype="u1", comm=comm, hints=hints) as f:
    comm.Barrier()
    begin = time.perf_counter()
    handles = [f.read_begin(slice(rank * n // size, (rank + 1) * n // size)) for _ in range(4)]
    assert time.perf_counter() - begin < 1  # all of it takes 2 s
    for h in handles:
        h.wait()
    assert time.perf_counter() - begin > 1.9
""", 2, timeout=40)


@pytest.mark.parametrize("ranks, method", [(1, "direct"), (1, "sieved"), (3, "extended"), (3, "two-phase")])
def test_a_begun_read_queues_up_behind_writes(mpirun, ranks, method):
    mpirun(HEAD + f"method = {method!r}" + """
n = 1 << 22
mine = slice(rank * n // size, (rank + 1) * n // size)
data = np.full(mine.stop - mine.start, 1, "u1")
hints = {"device": "paced:bandwidth=8M", "method": method, "buffer_size": 1 << 18}
with ps.open("a", "w", shape=(n,), dtype="u1", comm=comm, hints=hints) as f:
    comm.Barrier()
    begin = time.perf_counter()
    f.write(data, mine)
    w = f.write_begin(data + 1, mine)
    r = f.read_begin(mine)
    assert time.perf_counter() - begin < 0.4  # each write takes 0.5 s
    assert (r.wait() == 2).all()
    assert w.test()
    w.wait()
""", ranks, timeout=40)


@pytest.mark.parametrize("method", ["direct", "extended"])
def test_a_read_of_another_place_waits_for_nothing(mpirun, method):
    mpirun(HEAD + f"method = {method!r}" + """
n = 1 << 23
hints = {"device": "paced:bandwidth=4M", "method": method}
with ps.open("a", "w", shape=(2 * n,), dtype="u1", comm=comm, hints=hints) as f:
    h = f.write_begin(np.ones(n // size, "u1"), slice(rank * n // size, (rank + 1) * n // size))
    assert (f.read(slice(2 * n - 1000, 2 * n)) == 0).all()
    assert not comm.allreduce(h.test(), MPI.LAND)
    assert (f.read(slice(n - 10, n + 10)) == [1] * 10 + [0] * 10).all()
    assert rank < size - 1 or h.test()  # the other rank has written elsewhere
    h.wait()
""", 2, timeout=40)


@pytest.mark.parametrize("method", ["direct", "extended"])
@pytest.mark.parametrize("background", [None, "storage"])
def test_a_write_that_brings_a_file_to_its_length_is_seen(mpirun, method, background):
    mpirun(HEAD + f"method, background = {method!r}, {background!r}" + """
n = 1 << 20
hints = {"device": "paced:bandwidth=8M", "method": method}
with ps.open("a", "w", shape=(n,), dtype="u1", comm=comm, container="raw", hints=hints) as f:
    f.write(np.ones(n // size, "u1"), slice(rank * (n // size), (rank + 1) * (n // size)))
    f.truncate(40)
    f.write(np.full(1000, 2, "u1") if rank == 0 else None, slice(n - 1000, n) if rank == 0 else None)
    some = slice(n // 2, n // 2 + 10)
    got = f.read(some) if background is None else f.read_begin(some).wait()
    assert (got == 0).all()
    assert (f.read(slice(0, 41)) == [1] * 40 + [0]).all()
""", 3, timeout=40)


@pytest.mark.parametrize("storage", ["direct", "uring", "uring-direct"])
def test_reads_beside_the_io_thread(mpirun, storage):
    """The ring and the aligned memory of a file are for one thread at a time."""
    mpirun(HEAD + f"storage = {storage!r}" + """
n = 4 << 20
half = np.random.default_rng(rank).integers(0, 256, n, "u1")
below, above = slice(rank * n, (rank + 1) * n), slice((size + rank) * n, (size + rank + 1) * n)
hints = {"storage": storage, "method": "direct", "io_depth": 4}
with ps.open("a", "w", shape=(2 * size * n,), dtype="u1", comm=comm, container="raw", hints=hints) as f:
    f.write(half, below)
    f.sync()
    for turn in range(8):
        f.write(half + np.uint8(turn), above)
        assert (f.read(below) == half).all(), turn  # while the other half is written
    f.sync()
    assert (f.read(above) == half + np.uint8(turn)).all()
""", 2, timeout=60)


@pytest.mark.parametrize("method", ["direct", "sieved", "extended"])
def test_statistics_are_complete_in_every_mode(mpirun, method):
    mpirun(HEAD + f"method = {method!r}" + """
n = 1 << 16
mine = slice(rank * n, (rank + 1) * n)
for budget in (0, 64 << 20):
    for background in (None, "none", "storage", "all"):
        hints = {"method": method, "active_buffer_size": budget}
        with ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints=hints) as f:
            for turn in range(3):
                if background is None:
                    f.write(np.ones(n, "u1"), mine)
                    f.read(mine)
                else:
                    f.write_begin(np.ones(n, "u1"), mine, background=background).wait()
                    f.read_begin(mine, background=background).wait()
            f.sync()
            s = f.statistics
            assert comm.allreduce(s.bytes_written) == comm.allreduce(s.bytes_read) == 3 * n * size, (budget, background, s)
            assert s.bytes_wanted == 6 * n, (budget, background, s)
            assert comm.allreduce(s.writes) >= 3 and s.synchronisations >= 6, (budget, background, s)
""", 3, timeout=40)


@pytest.mark.parametrize("ranks", [1, 4])
def test_operations_of_several_files_at_a_time(mpirun, ranks):
    mpirun(HEAD + """
n = 50_000
mine = slice(rank * n, (rank + 1) * n)
files = [ps.open(f"f{i}", "w", shape=(size * n,), dtype="u1", comm=comm) for i in range(4)]
modes = ["storage", "all", "none", "storage"]
for turn in range(5):
    handles = [f.write_begin(np.full(n, turn * 40 + rank + i, "u1"), mine, method="extended", background=mode,
                             exchange=["node", "sparse"][i % 2])
               for i, (f, mode) in enumerate(zip(files, modes))]
    reads = [f.read_begin(slice(0, size * n), background=mode) for f, mode in zip(files, modes)]
    for h in handles[::-1]:
        h.wait()
    for i, h in enumerate(reads):
        assert (h.wait().reshape(size, n) == (turn * 40 + i + np.arange(size))[:, None]).all()
for f in files:
    f.close()
""", ranks, timeout=40)


@pytest.mark.parametrize("background", ["storage", "all"])
def test_ten_thousand_operations_in_flight(mpirun, background):
    mpirun(HEAD + f"background = {background!r}" + """
count, files = (10_000 if background == "storage" else 2000), []
per_file = count // 2
files = [ps.open(f"f{i}", "w", shape=(per_file, size), dtype="i4", comm=comm) for i in range(2)]
handles = []
for i in range(per_file):
    for k, f in enumerate(files):
        handles.append(f.write_begin(np.array([[i * 10 + rank + k]], "i4"), (slice(i, i + 1), slice(rank, rank + 1)),
                                     method=("direct", "extended")[k], background=background))
for h in handles:
    h.wait()
expected = np.arange(per_file)[:, None] * 10 + np.arange(size)
for k, f in enumerate(files):
    assert (np.fromfile(f"f{k}", "i4").reshape(per_file, size) == expected + k).all()
reads = [f.read_begin((slice(i, i + 1), slice(None)), method=("direct", "extended")[k], background=background)
         for i in range(per_file // 5) for k, f in enumerate(files)]
for j, h in enumerate(reads):
    assert (h.wait() == expected[j // 2] + j % 2).all()
for f in files:
    f.close()
""", 2, timeout=200)


def test_background_all_needs_threads_and_says_so_everywhere(mpirun):
    output = mpirun("import mpi4py\nmpi4py.rc.thread_level = 'funneled'\n" + HEAD + """
with ps.open("a", "w", shape=(size,), dtype="i4", comm=comm) as f:
    one, mine = np.array([rank], "i4"), slice(rank, rank + 1)
    for begin in (lambda: f.write_begin(one, mine, background="all"), lambda: f.read_begin(mine, background="all")):
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            same(ps.StateError, "needs MPI_THREAD_MULTIPLE, but MPI runs with MPI_THREAD_FUNNELED", begin)
    f.write_begin(one, mine, background="storage").wait()
    assert list(f.read_begin(slice(0, size)).wait()) == list(range(size))
print("refused")
""", 3, timeout=40)
    assert output.count("refused") == 3


def test_bad_arguments_are_refused_by_all_ranks(mpirun):
    mpirun(HEAD + """
with ps.open("a", "w", shape=(size,), dtype="i4", comm=comm) as f:
    one, mine = np.array([rank], "i4"), slice(rank, rank + 1)
    last = rank == size - 1
    for good in ("none", "storage", "all", "all"):
        same(ps.ArgumentError, "background 'later' is not known; known are none, storage, all",
             lambda: (f.write_begin(one, mine, background="later" if last else good).wait()))
        same(ps.ArgumentError, "background 'later' is not known",
             lambda: (f.read_begin(mine, background="later" if last else good).wait()))
        same(ps.ArgumentError, "cannot become int32",
             lambda: f.write_begin(one.astype("f8") if last else one, mine, background=good).wait())
        same(ps.SectionError, "",
             lambda: f.read_begin((mine, mine) if last else mine, background=good).wait())
    f.write_begin(one, mine).wait()
    assert list(f.read(slice(0, size))) == list(range(size))
""", 3, timeout=40)


@pytest.mark.parametrize("modes", [("none", "storage"), ("storage", "none"), ("storage", "all"), ("all", "storage"),
                                   ("all", "none")])
@pytest.mark.parametrize("operation", ["write", "read"])
def test_ranks_that_disagree_on_the_background_are_told(mpirun, operation, modes):
    output = mpirun(HEAD + f"modes, writes = {modes!r}, {operation == 'write'}" + """
with ps.open("a", "w", shape=(size,), dtype="i4", comm=comm) as f:
    one, mine, mode = np.array([rank], "i4"), slice(rank, rank + 1), modes[rank == size - 1]
    same(ps.DisagreementError, "disagree on the operation: .* with background ",
         lambda: (f.write_begin(one, mine, background=mode) if writes else f.read_begin(mine, background=mode)).wait())
print("reported")
""", 3, timeout=15)
    assert output.count("reported") == 3
