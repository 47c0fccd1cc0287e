"""Distributions in indices: a leading index, halos that go around, frames."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from scripts import HEAD

pytestmark = pytest.mark.ranks


def model_of(whole, d, halo, periodic, frame):
    """The expected content of a local array, cell by cell; -1 where no element belongs."""
    local = np.full(d.local_shape, -1.0)
    first = [low - interior.start for (low, _, _, _), interior in zip(d.section.dimensions, d.interior)]
    for place in np.ndindex(*local.shape):
        element = [a + b for a, b in zip(first, place)]
        element = [e % n if p else e for e, n, p in zip(element, whole.shape, periodic)]
        if all(0 <= e < n for e, n in zip(element, whole.shape)):
            local[place] = whole[tuple(element)]
    return local


@st.composite
def distributions(draw):
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    ranks = draw(st.integers(1, 5))
    halo = tuple(draw(st.integers(0, 7)) for _ in shape)
    periodic = tuple(draw(st.booleans()) for _ in shape)
    return shape, ranks, draw(st.integers(0, ranks - 1)), halo, periodic, draw(st.booleans())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], print_blob=True)
@given(how=distributions(), order=st.sampled_from("CF"), method=st.sampled_from(["auto", "direct", "sieved", "extended"]))
def test_local_arrays_like_a_model(tmp_path, how, order, method):
    shape, ranks, rank, halo, periodic, frame = how
    whole = np.arange(float(np.prod(shape))).reshape(shape)
    ps.save(tmp_path / "h.npy", whole, order=order)
    d = ps.distribute(shape, halo=halo, periodic=periodic, frame=frame, rank=rank, ranks=ranks)
    with ps.open(tmp_path / "h.npy", "r+") as f:
        out = np.full(d.local_shape, -1.0)
        assert f.read(d.ghosted, out=out, method=method) is out
        assert np.array_equal(out, model_of(whole, d, halo, periodic, frame))
        assert d.ghosted.shape == d.local_shape and np.array_equal(f[d.ghosted], np.where(out == -1, 0, out))
        f.write(out + 100, d, method=method)  # the interior
        changed = whole.copy()
        changed[d.section.index] += 100
        assert np.array_equal(f, changed)


def test_a_frame_is_on_all_sides():
    d = ps.distribute((8, 8), halo=(1, 2), frame=True, rank=0, ranks=4)
    assert d.local_shape == (6, 8) and d.interior == (slice(1, 5), slice(2, 6)) and len(d.ghosted.pieces) == 1
    assert "(6, 8)" in repr(d.ghosted)
    for bad in ({"periodic": (True,)}, {"halo": (1, 2, 3)}, {"halo": -1}):
        with pytest.raises(ps.ArgumentError, match="distribution"):
            ps.distribute((8, 8), ranks=4, **bad)


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_index_beside_a_distribution(tmp_path, order):
    whole = np.arange(3.0 * 4 * 5).reshape(3, 4, 5)
    ps.save(tmp_path / "t.npy", whole, order=order)
    d = ps.distribute((4, 5), halo=1, periodic=True, rank=1, ranks=2)
    padded = np.pad(whole, ((0, 0), (1, 1), (1, 1)), mode="wrap")
    mine = padded[:, 2:6] if d.grid == (2, 1) else padded[:, :, 2:]
    if d.grid == (1, 2):
        mine = padded[:, :, 3:7]
    with ps.open(tmp_path / "t.npy", "r+") as f:
        assert np.array_equal(f[1, d], whole[1][d.section.index]) and np.array_equal(f[::2, d], whole[::2][(slice(None), *d.section.index)])
        assert np.array_equal(f[1, d.ghosted], mine[1]) and np.array_equal(f[1:, d.ghosted], mine[1:])
        u = f.read((2, d.ghosted))
        f.write(-u, (2, d))
        f[0:2, d] = -mine[0:2]
        f[-1, d] = -u
        expected = whole.copy()
        expected[(slice(None), *d.section.index)] *= -1
        assert np.array_equal(f, expected)
        out = np.zeros((3, *d.local_shape))
        f.read((slice(None), d), out=out)
        assert np.array_equal(out[(slice(None), *d.interior)], expected[(slice(None), *d.section.index)]) and not out[:, 0].any()
    d = ps.distribute((3, 4), halo=1, rank=0, ranks=1, frame=True)
    with ps.open(tmp_path / "t.npy") as f:
        assert np.array_equal(f[d, 2], expected[:, :, 2]) and np.array_equal(f[d.ghosted, 2], np.pad(expected[:, :, 2], 1))


def test_what_cannot_be_in_an_index(tmp_path):
    ps.save(tmp_path / "t.npy", np.zeros((4, 4, 4)))
    d = ps.distribute((4, 4), halo=1)
    with ps.open(tmp_path / "t.npy", "r+") as f:
        for call, error, words in [(lambda: f.write(np.zeros((4, 4)), (0, d.ghosted)), ps.SectionError, "belong to other ranks"),
                                   (lambda: f.read((d, d)), ps.SectionError, "one Distribution, not 2"),
                                   (lambda: f.read((slice(None, None, -1), d.ghosted)), ps.SectionError, "positive steps"),
                                   (lambda: f.read((0, d.ghosted), out=np.zeros((3, 3))), ps.ArgumentError, "with its halo has shape"),
                                   (lambda: f.read(d), ps.SectionError, "2 dimensions")]:
            with pytest.raises(error, match=words):
                call()


def test_ranks_read_their_halos(mpirun):
    mpirun(HEAD + """
whole = np.arange(63.0).reshape(7, 9)
if rank == 0:
    np.save("p.npy", whole)
comm.Barrier()
d = ps.distribute((7, 9), comm, halo=2, periodic=(True, False), frame=True)
padded = np.pad(np.pad(whole, ((2, 2), (0, 0)), mode="wrap"), ((0, 0), (2, 2)))
(low, up, _, _), (left, right, _, _) = d.section.dimensions
for method in ("auto", "direct", "sieved", "gather", "two-phase", "extended"):
    with ps.open("p.npy", comm=comm) as f:
        assert np.array_equal(f.read(d.ghosted, method=method), padded[low:up + 4, left:right + 4]), method
assert np.array_equal(ps.load("p.npy", d), padded[low:up + 4, left:right + 4])
""", 4)
