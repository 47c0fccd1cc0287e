"""Headers of .npy files: Penstock and numpy.load interpret the same bytes alike, or both refuse them."""

import ast
import struct
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps

pytestmark = pytest.mark.filterwarnings("ignore")  # NumPy warns of versions 2 and 3, of Python 2, of old names
DATA = bytes(range(256)) * 16
FUZZ = settings(max_examples=150, deadline=None, print_blob=True,
                suppress_health_check=[HealthCheck.function_scoped_fixture])


def write_header(path, text, version=1, minor=0):
    raw = text if isinstance(text, bytes) else text.encode("latin-1" if version < 3 else "utf-8")
    length = struct.pack("<H" if version == 1 else "<I", len(raw))
    path.write_bytes(b"\x93NUMPY" + bytes([version, minor]) + length + raw + DATA)


def by_numpy(path):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.load(path)
    except Exception:
        return None


def by_penstock(path):
    try:
        with ps.open(path) as f:
            array = f.read(...)
            assert array.shape == f.shape
            order = f.order
    except ps.FormatError:
        return None
    # Arrays of one column have both orders.
    assert array.flags.c_contiguous if order == "C" else array.flags.f_contiguous
    return array


def is_written_by_numpy(text, array):
    """Whether NumPy writes such a type, and in such words."""
    try:
        descr = ast.literal_eval(text)["descr"]
    except SyntaxError:  # Python 2
        return False
    exotic = any(part in text for part in ("\\", "'''", '"""'))
    return not exotic and np.lib.format.dtype_to_descr(array.dtype) == descr


def compare(path, text):
    """Both arrays; None if refused. Only headers that NumPy itself never writes may be refused by one of the two."""
    ours, numpys = by_penstock(path), by_numpy(path)
    if ours is not None:
        assert numpys is not None, f"NumPy refuses it: {text!r}"
        assert (ours.shape, ours.dtype) == (numpys.shape, numpys.dtype)
        assert np.isfortran(ours) == np.isfortran(numpys) and ours.tobytes("A") == numpys.tobytes("A")
    elif numpys is not None:
        within = 1 <= numpys.ndim <= 8 and 1 <= numpys.dtype.itemsize <= 65536
        assert not (within and is_written_by_numpy(text, numpys)), f"NumPy reads it: {text!r}"
    return ours, numpys


def header(descr="'<f8'", shape="(2, 3)", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


PLAIN = header()
REFUSED = [header(shape=shape) for shape in (
    "(True,)", "(True, False)", "('4',)", "('',)", "((4,),)", "(4:4)", "(4:4,)", "{4:4}", "{4}", "[4]", "(4)", "4", "'4'",
    "(4.0,)", "(4e0,)", "(4j,)", "(-1,)", "(0, -1)", "(-1, -1)", "(2 3)", "(2,,)", "(,)", "(2", "(02,)", "(0x,)", "(2__0,)",
    "(2l,)", "(2LL,)", "(L,)", "(None,)", "(2,)+(3,)", "(--2,)", "(9223372036854775808,)", "(4294967296, 4294967296)",
    "(2,\x00)", "(2,\xa0)", "\u0662".encode().decode("latin-1"))]
REFUSED += [header(order=order) for order in ("0", "1", "None", "'False'", "true", "(False,)", "Falsehood")]
REFUSED += [header(descr=descr) for descr in (
    "8", "8.0", "None", "True", "b'<f8'", "'<f8", "<f8", "'<f3'", "'b2'", "'i3'", "'c4'", "'M4'", "'M8[x]'", "'M8[]'",
    "'f8[s]'", "'<f8 '", "''", "'f8\\x00'", "'|O'", "('<f8',)", "('<f8', (2,))", "('<f8', 2)", "[('a', '<f8', -1)]",
    "[('a', '<f8', (2, -1))]", "[('a', '<f8', (True,))]", "[('a', '<f8', 'x')]", "[('a', '<f8'), ('a', '<f4')]",
    "[(b'a', '<f8')]", "[(1, '<f8')]", "[('a',)]", "[('a', '<f8', 2, 3)]", "[(('t', 'a', 'b'), '<f8')]", "[('a', 'O')]",
    "[('a': '<f8')]", "[('a' '<f8')]", "'\\x3'", "'\\ud8'", "'\\U00110000'", "'<f\n8'", "[('a', '<f8')")]
REFUSED += [
    "", "{}", "[]", "()", "{", "}", "'x'", "1", "{'descr': '<f8', 'shape': (2,)}", "{'descr', '<f8'}", "{**" + PLAIN + "}",
    PLAIN + "x", PLAIN + "\0", PLAIN + ",", PLAIN + ";", PLAIN + "\v", PLAIN + PLAIN, "\n " + PLAIN, PLAIN[:-1],
    PLAIN.replace(", ", " "), PLAIN.replace(":", ","), PLAIN.replace(":", "="), PLAIN.replace("'descr':", "'descr',"),
    PLAIN.replace("'descr'", "1"), PLAIN.replace("'descr'", "descr"), PLAIN.replace("'descr'", "b'descr'"),
    PLAIN.replace("'descr'", "'DESCR'"), PLAIN.replace("'descr'", "['descr']"), PLAIN.replace("}", "'x': 1}"),
    PLAIN.replace("}", ",}"), "[" + PLAIN + "]", "(" * 90 + PLAIN + ")" * 90 + ")"]


@pytest.mark.parametrize("text", REFUSED)
def test_what_numpy_refuses_is_refused(tmp_path, text):
    write_header(tmp_path / "a.npy", text)
    assert compare(tmp_path / "a.npy", text) == (None, None)
    with pytest.raises(ps.FormatError, match="a.npy"):
        ps.open(tmp_path / "a.npy", "r+")


READ = [header(shape=shape) for shape in (
    "()", "(2,)", "(2, )", "(2L, 3L)", "(2 L,)", "(0x2, 0b11, 0o4)", "(1_0,)", "(+2,)", "(00,)", "(0, 7)", "(2, # two\n 3)",
    "(2,\n3)", "((2), 3)", "((2, 3))")]
READ += [header(descr=descr) for descr in (
    "'f8'", "'=f8'", "'|f8'", "'>f8'", "'f08'", "'?'", "'|b1'", "'S5'", "'a5'", "'>U2'", "'M8[ns]'", "'m8[25s]'", "'<M8'",
    "'c16'", "'<f2'", "(('<f8'))", "r'<f8'", "u'<f8'", "'<' 'f8'", '"<f8"', "'\\x3cf8'", "'\\74f8'", "[['a', '<f8']]",
    "[('', '<f8')]", "[('', '|V3'), ('x', '<f8')]", "[(('t', 'a'), '<f8')]", "[('a', '<f4', (3, 2)), ('b', '>i2')]",
    "[('a', '<f8', 2)]", "[('a', '<f8', (2L,))]", "[('a', '<f8', [2])]", "[('a', ('<f8', (2,)))]", "[('a', [('b', '|u1')])]",
    "[('\\u00e9', '<f8')]", "[('\xe9\xff', '<f8')]", "[('a\\tb\\\\', '<f8')]", "[('a\\q', '<f8')]", "[(\"it's\", '<f8')]",
    "[('\\ud800', '<f8')]", "[('\\U0001f600', '<f8')]", "[('a\\x00b', '<f8')]", "[('\x85', '<f8')]")]
READ += [
    PLAIN + "\n", PLAIN + "\n  \n", PLAIN + "\r\n", PLAIN + "\f", PLAIN + "  # said", "\t " + PLAIN, "\n" + PLAIN,
    "(" + PLAIN + ")", PLAIN.replace("'shape'", "'sha\\x70e'"), PLAIN.replace("'shape'", '"shape"'),
    # If a key is repeated, Python takes the last.
    "{'descr': '<f4', " + PLAIN[1:], PLAIN.replace("'shape': ", "'shape': 7, 'shape': ")]


@pytest.mark.parametrize("text", READ)
def test_what_numpy_reads_is_read_alike(tmp_path, text):
    write_header(tmp_path / "a.npy", text)
    ours, numpys = compare(tmp_path / "a.npy", text)
    assert ours is not None and numpys is not None


def test_versions_have_their_characters(tmp_path):
    """1 and 2 are in Latin-1 and may have numbers of Python 2; 3 is in UTF-8."""
    path, name, longs = tmp_path / "a.npy", header(descr="[('\xe9', '<f8')]"), header(shape="(2L,)")
    for version in (1, 2, 3):
        write_header(path, name, version)
        ours, _ = compare(path, name)
        assert ours.dtype.names == ("\xe9",)
        write_header(path, longs, version)
        assert (compare(path, longs)[0] is None) == (version == 3)
    for raw in (name.encode("latin-1"), b"\xff" + PLAIN.encode(), PLAIN.replace("<", "\ud800").encode("utf-8", "surrogatepass")):
        write_header(path, raw, 3)
        assert compare(path, raw) == (None, None)
    for version, minor in [(0, 0), (4, 0), (1, 1), (2, 1), (3, 9)]:
        write_header(path, PLAIN, version, minor)
        assert compare(path, PLAIN) == (None, None)


def test_types_beyond_the_limits_are_refused_as_such(tmp_path):
    path = tmp_path / "a.npy"
    for shape, descr in [("(1, 1, 1, 1, 1, 1, 1, 1, 1)", "'<f8'"), ("(2,)", "'V0'"), ("(0,)", "'V65537'"), ("(2,)", "[]"),
                         ("(0,)", "'U9223372036854775807'")]:
        write_header(path, header(descr, shape))
        with pytest.raises(ps.FormatError, match="a.npy"):
            ps.open(path)


NAMES = st.text(min_size=1, max_size=4)
SIMPLE = st.sampled_from(["<f8", ">f4", "|b1", "<i2", "|u1", ">c16", "|S3", "<U2", "|V5", "<M8[ns]", ">m8[25s]"])


def structures(inner):
    shapes = st.lists(st.integers(0, 3), max_size=2).map(tuple)
    types = st.tuples(inner, shapes).map(lambda pair: np.dtype(pair))
    fields = st.lists(st.tuples(NAMES, types), min_size=1, max_size=3, unique_by=lambda field: field[0])
    return fields.map(np.dtype)


DTYPES = st.recursive(SIMPLE.map(np.dtype), structures, max_leaves=5).filter(
    lambda dtype: dtype.subdtype is None and dtype.itemsize > 0)


@FUZZ
@given(dtype=DTYPES, shape=st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), order=st.sampled_from("CF"))
def test_numpy_and_penstock_read_what_the_other_writes(tmp_path, dtype, shape, order):
    path = tmp_path / "a.npy"
    values = np.frombuffer(bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape, order=order)
    np.save(path, values)
    with ps.open(path, dtype=dtype) as f:
        assert (f.shape, f.dtype) == (shape, values.dtype)
    by_numpys_hand = path.read_bytes()[:8]
    with ps.open(path, "w", shape=shape, dtype=dtype, order=order) as f:
        f.write(values, ...)
    loaded = np.load(path)
    assert (loaded.shape, loaded.dtype) == (shape, np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(dtype)))
    assert path.read_bytes()[:8] == by_numpys_hand  # the version is the one that NumPy takes
    with ps.open(path, dtype=dtype) as f:
        assert (f.shape, f.dtype) == (shape, loaded.dtype)


TOKENS = st.sampled_from(list("0123456789()[]{},:'\" \n#+-.LTx<>|") + ["True", "False", "None", "'shape': (3,), ", "('a', ", "0x",
                                                                    "1.5", "[(", ")]", ", 2", "'<i4'", "b'", "u'"])


@st.composite
def mutated(draw):
    text = draw(st.sampled_from([
        PLAIN, header(shape="(2L,)"), header("[('a', '<f4', (3, 2)), (('t', 'b'), '>i2')]", "(5,)", "True"), PLAIN + "    \n"]))
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 3)))
        text = text[:begin] + draw(st.just("") | TOKENS | st.just(text[begin:end] * 2)) + text[end:]
    return text


@FUZZ
@given(text=mutated(), version=st.integers(1, 3))
def test_damaged_headers(tmp_path, text, version):
    write_header(tmp_path / "a.npy", text, version)
    compare(tmp_path / "a.npy", text)
