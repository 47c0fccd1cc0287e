"""Random sections of one process against NumPy's own indexing."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps

HINTS = {hint.name: hint for hint in ps.hints()}
METHODS = st.sampled_from(HINTS["method"].choices)
RULES = st.sampled_from(HINTS["domains"].choices)


@st.composite
def requests(draw):
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=5)))
    index = []
    for n in shape:
        kind = draw(st.integers(0, 3))
        if kind == 0:
            index.append(draw(st.integers(-n, n - 1)))
        elif kind == 1:
            index.append(slice(None))
        else:
            lower = draw(st.integers(0, n))
            index.append(slice(lower, draw(st.integers(lower, n)), draw(st.integers(1, n))))
    return shape, tuple(index)


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
        model[index] = np.frombuffer(b"\xfe" * np.dtype(dtype).itemsize, dtype)[0]
        f.write(np.array(model[index]), index, **hints)
    assert np.array_equal(np.load(path), model)
