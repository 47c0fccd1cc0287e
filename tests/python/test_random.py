"""Random sections of one process, compared with NumPy's indexing."""

import pytest
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps

pytestmark = pytest.mark.ranks

HINTS = {hint.name: hint for hint in ps.hints()}
METHODS = st.sampled_from(HINTS["method"].choices)
RULES = st.sampled_from(HINTS["domains"].choices)


def bounds(draw, n):
    """Of a slice: inside the array and outside, from the end, left out."""
    return draw(st.none() | st.integers(-n - 3, n + 3))


def dimension(draw, n, lists):
    """One entry of an index; lists only where NumPy does not take pairs of several."""
    kind = draw(st.sampled_from(["integer", "all", "slice", "slice", *lists]))
    if kind == "integer":
        return draw(st.integers(-n, n - 1))
    if kind == "all":
        return slice(None)
    if kind == "slice":
        step = draw(st.none() | st.integers(1, n) | st.integers(-n, -1))
        return slice(bounds(draw, n), bounds(draw, n), step)
    if kind == "mask":
        return np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    order = draw(st.permutations(range(n)))[: draw(st.integers(0, n))]
    return [i - n if draw(st.booleans()) else i for i in order]


@st.composite
def indices(draw, shape):
    form = draw(st.sampled_from(["entries", "entries", "entries", "mesh", "mask"]))
    if form == "mask":
        dims = draw(st.integers(1, len(shape)))
        size = int(np.prod(shape[:dims]))
        bits = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        return np.array(bits, bool).reshape(shape[:dims])
    if form == "mesh":
        first = draw(st.integers(0, len(shape) - 1))
        last = draw(st.integers(first + 1, len(shape)))
        lists = [draw(st.permutations(range(n)))[: draw(st.integers(1, n))] for n in shape[first:last]]
        return tuple(dimension(draw, n, []) for n in shape[:first]) + np.ix_(*lists)
    index = []
    for n in shape:
        has_list = any(isinstance(entry, (list, np.ndarray)) for entry in index)
        index.append(dimension(draw, n, [] if has_list else ["list", "mask"]))
    used = draw(st.integers(0, len(shape)))
    if draw(st.booleans()):  # what is left out is ":", at the end or where "..." stands
        return tuple(index[:used])
    return (*index[:used], ..., *index[draw(st.integers(used, len(shape))):])


@st.composite
def requests(draw):
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=5)))
    return shape, draw(indices(shape))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
          print_blob=True)
@given(request=requests(), dtype=st.sampled_from(["u1", "f4", "c16", "V5"]), order=st.sampled_from("CF"),
       method=METHODS, rule=RULES, buffer=st.integers(16, 400), sieve=st.sampled_from(HINTS["sieve_writes"].choices),
       budget=st.sampled_from([0, 1, 1000, 64 << 20]))
def test_like_numpy(tmp_path, request, dtype, order, method, rule, buffer, sieve, budget):
    shape, index = request
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    model = (np.arange(size) % 251).astype("u1").view(dtype).reshape(shape)
    path = tmp_path / "r.npy"
    hints = {"method": method, "domains": rule, "buffer_size": buffer, "sieve_writes": sieve,
             "active_buffer_size": budget}
    with ps.open(path, "w", shape=shape, dtype=dtype, order=order) as f:
        f.write(model, ...)
        assert np.array_equal(f.read(index, **hints), model[index])
        model = model.copy()
        new = (np.arange(model[index].size * model.itemsize) % 241 + 7).astype("u1").view(dtype).reshape(model[index].shape)
        model[index] = new
        f.write(new, index, **hints)
    assert np.array_equal(np.load(path), model)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
          print_blob=True)
@given(request=requests(), order=st.sampled_from("CF"), number=st.booleans(), strides=st.sampled_from([1, -1, 2]))
def test_subscripts_like_numpy(tmp_path, request, order, number, strides):
    shape, index = request
    model = np.arange(int(np.prod(shape)), dtype="i4").reshape(shape)
    path = tmp_path / "r.npy"
    with ps.open(path, "w", shape=shape, dtype="i4", order=order) as f:
        f[...] = model
        got, wanted = f[index], model[index]
        assert np.shape(got) == np.shape(wanted) and np.array_equal(got, wanted)
        assert isinstance(got, np.ndarray) == isinstance(wanted, np.ndarray)
        out = np.zeros(tuple(abs(strides) * n for n in np.shape(wanted)), "i4")
        view = out[(..., *(slice(None, None, strides) for _ in out.shape))]
        assert f.read(index, out=view) is view and np.array_equal(view, wanted)
        value = -5 if number else -np.asarray(wanted) - 1
        model[index] = value
        f[index] = value
        assert np.array_equal(f, model)
    assert np.array_equal(np.load(path), model)
