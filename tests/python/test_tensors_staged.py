"""Checkpoints that are written beside each node first, and brought to their place afterwards."""

import os

import numpy as np
import penstock as ps
import pytest

from scripts import HEAD

pytest.importorskip("safetensors")

STATE = HEAD + """
def state(value, comm=comm):
    d = ps.distribute((60, 50), comm, kind=("block", "*"))
    cyclic = ps.distribute((24, 5), comm, kind=("cyclic", "*"))
    return {"w": ps.Shard(np.full(d.section.shape, value, "f4"), d),
            "c": ps.Shard(np.full(cyclic.section.shape, value, "i8"), cyclic),
            "bits": ps.Shard(np.full((size, 3), value, "u2")[rank : rank + 1], (slice(rank, rank + 1),), (size, 3), "BF16"),
            "step": np.array(value), "table": np.arange(40, dtype="i2"), "empty": np.zeros((0, 4))}
def check(found, value):
    assert set(found) == {"w", "c", "bits", "step", "table", "empty"}
    assert found["w"].shape == (60, 50) and (found["w"] == value).all() and (found["c"] == value).all() and found["step"] == value
    assert (found["bits"].view("u2") == value).all() and (found["table"] == np.arange(40)).all() and found["empty"].shape == (0, 4)
"""


@pytest.mark.ranks
@pytest.mark.parametrize("level", ["multiple", "serialized"])
def test_a_checkpoint_is_beside_the_nodes_and_then_in_its_place(mpirun, level):
    mpirun(f"import mpi4py\nmpi4py.rc.thread_level = {level!r}\n" + STATE + """
folder = ps.Checkpoints("there", comm=comm, keep=2, stage="ssd", checksums=True)
for step in range(3):
    mine = state(step)
    handle = folder.save(step, mine, metadata={"who": "me"}, wait=False)
    for one in mine.values():  # it is copied
        getattr(one, "array", one)[...] = 7
    assert len([name for name in os.listdir(os.path.join("ssd", *os.listdir("ssd"))) if f"step-{step:09}" in name]) == size
    handle.wait()
    assert handle.test() and handle.progress == 1.0
    comm.Barrier()
    assert len(os.listdir(os.path.join("ssd", *os.listdir("ssd")))) == size  # those of the last one
folder.save(3, state(3))
assert folder.steps() == [2, 3] and folder.latest() == 3
check(folder.load(), 3)
if rank == 0:
    ps.verify_tensors(folder.path(3))
    from safetensors import safe_open
    with safe_open(folder.path(2), "np") as file:
        assert file.metadata()["who"] == "me" and file.metadata()["step"] == "2" and (file.get_tensor("w") == 2).all()
""", 3)


LEAVES = STATE + """
folder = ps.Checkpoints("there", comm=comm, stage="ssd")
folder.save(1, state(1))
folder.save(2, state(2), wait=False)
comm.Barrier()
os._exit(0)  # step 2 is beside the nodes alone
"""


@pytest.mark.ranks
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_what_a_killed_program_left_is_brought_to_its_place(mpirun, tmp_path, ranks):
    mpirun("import mpi4py\nmpi4py.rc.thread_level = 'serialized'\n" + LEAVES, 3, expect=None)
    assert os.listdir(tmp_path / "there") == ["step-000000001.safetensors"]
    assert ps.Checkpoints(tmp_path / "there").latest() == 1  # without the copies
    mpirun(STATE + """
folder = ps.Checkpoints("there", comm=comm, stage="ssd")
assert folder.latest() == 2 and folder.steps() == [1, 2]
check(folder.load(), 2)
check(folder.load(step=1), 1)
assert ps.Checkpoints("there", comm=comm).latest() == 2
""", ranks)


@pytest.mark.ranks
def test_a_copy_that_lacks_the_files_of_a_node_does_not_count(mpirun, tmp_path):
    mpirun("import mpi4py\nmpi4py.rc.thread_level = 'serialized'\n" + LEAVES, 3, expect=None)
    (place,) = (tmp_path / "ssd").iterdir()
    lost = next(path for path in place.iterdir() if ".1-of-3." in path.name and "step-000000002" in path.name)
    lost.unlink()
    folder = ps.Checkpoints(tmp_path / "there", stage=tmp_path / "ssd")
    assert folder.latest() == 1 and folder.steps() == [1]
    with pytest.raises(ps.Error):
        folder.load(step=2)
    # Nor does one whose files are of two saves of the same step.
    other = next(path for path in place.iterdir() if ".0-of-3." in path.name and "step-000000002" in path.name)
    token = other.name.split(".")[1]
    lost.with_name(lost.name.replace(token, token[::-1])).write_bytes(other.read_bytes())
    assert folder.latest() == 1


@pytest.mark.ranks
def test_errors_of_a_stage_are_those_of_all_ranks(mpirun):
    mpirun(STATE + """
if rank == 0:
    os.mkdir("ssd1"); open("ssd0", "w").close()
comm.Barrier()
folder = ps.Checkpoints("there", comm=comm, stage="ssd0" if rank == 1 else "ssd1")
try:
    folder.save(1, state(1), wait=False)
    raise SystemExit("no error")
except ps.StorageError as error:
    assert "ssd0" in str(error), error
assert folder.latest() is None
good = ps.Checkpoints("there", comm=comm, stage="ssd1")
try:
    good.save(1, {"a": ps.Shard(np.zeros(2), (slice(0, 2),), (5,))}, wait=False)
    raise SystemExit("no error")
except ps.ArgumentError as error:
    assert "'a'" in str(error)
""", 3)


def test_a_process_alone(tmp_path):
    folder = ps.Checkpoints(tmp_path / "there", stage=tmp_path / "ssd", max_file_size="1K")
    handle = folder.save(5, {"a": np.arange(1000), "b": np.ones(3, "f4")}, wait=False)
    handle.wait()
    assert folder.steps() == [5] and (folder.load(["a"])["a"] == np.arange(1000)).all()
    assert (tmp_path / "there/step-000000005/model.safetensors.index.json").exists()
