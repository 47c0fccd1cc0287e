"""Programs over several hosts. Run by scripts/test_hosts.sh; those marked slow are left out by .ci/run."""

import os
import re
import sys
import time
from pathlib import Path

import gluster
import penstock
import pytest
from hosts import Hosts, transports
from penstock._run import script

if "PENSTOCK_SANDBOX" not in os.environ:
    pytest.skip("no hosts can be made here: " + os.environ.get("PENSTOCK_NO_SANDBOX", "run scripts/test_hosts.sh"),
                allow_module_level=True)

pytestmark = pytest.mark.hosts
TRANSPORTS = transports()
MODELS = Path(penstock.__file__).parents[2] / "tests/mpi"
PROGRAM = [sys.executable, str(Path(__file__).with_name("program.py"))]
TIMEOUT = 150
AGGREGATORS = 2  # of program.py

# Hosts, ranks on each, and their order.
LAYOUTS = {f"{hosts}x{each}-{placement}": (hosts, each, placement)
           for hosts in (2, 4) for each in (1, 2, 4) for placement in ("block", "cyclic")
           if each > 1 or placement == "block"}
CASES = {"random_model": 240, "background_model": 8, "field_cases": 0}  # in all ranks together; 0: those it has
SHORT = {"random_model": ("2x2-block", "4x1-block"), "background_model": ("2x4-cyclic",), "field_cases": ("2x2-block",),
         "arrays": ("2x1-block", "2x4-block")}


def in_each_layout(*programs):
    return pytest.mark.parametrize("program, count, each, placement", [
        pytest.param(program, *layout, id=f"{program}-{name}", marks=[] if name in SHORT[program] else pytest.mark.slow)
        for program in programs for name, layout in LAYOUTS.items()])


over_each_transport = pytest.mark.parametrize("transport", TRANSPORTS)
survivors_go_on = pytest.mark.skipif("tcp" in TRANSPORTS, reason="Open MPI ends a program that has lost a host")


def test_hosts_have_nothing_in_common_but_the_folder(tmp_path):
    with Hosts(2) as hosts:
        for name in hosts.names:
            hosts.on(name, "touch", f"/dev/shm/{name}", str(tmp_path / name))
        for name in hosts.names:
            assert hosts.on(name, "hostname").strip() == name
            assert hosts.on(name, "ls", "/dev/shm").split() == [name]
            assert hosts.on(name, "ls", str(tmp_path)).split() == hosts.names
            assert hosts.on(name, "cat", "/proc/1/comm").strip() == "cat"
            assert hosts.on(name, "ls", "/sys/class/net").split() == ["eth0", "lo"]


@over_each_transport
@in_each_layout(*CASES)
def test_the_models_hold(program, count, each, placement, transport):
    cases = CASES[program] // (count * each)
    # Other cases on other hosts.
    some = ["--cases", str(max(1, cases)), "--seed", str(100 * count + each)] if CASES[program] else []
    with Hosts(count) as hosts:
        output = hosts.run([str(MODELS / program), *some], each, transport, placement, TIMEOUT)
    assert re.search(r"agree with the model|\[  PASSED  \]", output), output


@over_each_transport
@in_each_layout("arrays")
def test_a_program_reads_what_other_hosts_wrote(program, count, each, placement, transport, tmp_path):
    with Hosts(count) as hosts:
        hosts.run([*PROGRAM, program, str(tmp_path)], each, transport, placement, TIMEOUT)


@over_each_transport
def test_mpi_io_of_programs(transport, tmp_path):
    preload = Path(script()).with_name("libpenstock_mpiio.so")
    words = ["env", f"LD_PRELOAD={preload}", sys.executable, str(Path(__file__).with_name("mpi_io.py")), str(tmp_path)]
    with Hosts(2) as hosts:
        output = hosts.run(words, 2, transport, "cyclic", TIMEOUT)
    assert "MPI-IO holds" in output


@over_each_transport
@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_messages_grow_with_hosts_and_not_with_ranks(count, transport, tmp_path):
    """A window is one message from (or to) each other host that has bytes there; before, a descriptor of them."""
    with Hosts(count) as hosts:
        for each in (1, 2, 4):
            output = hosts.run([*PROGRAM, "messages", str(tmp_path)], each, transport)
            for rounds in (1, 3):
                if each == 1 and rounds > 1:
                    continue  # the sparse exchange, which has other windows; one round is one window of either
                expected = AGGREGATORS * (count - 1) * (rounds + 1)
                assert f"{rounds} rounds: {expected} and {expected} messages" in output, f"{each} ranks: {output}"


@over_each_transport
@survivors_go_on
@pytest.mark.parametrize("what", ["host", "rank"])
def test_ranks_say_for_whom_they_wait_when_one_has_died(what, transport, tmp_path):
    with Hosts(2) as hosts:
        program = hosts.start([*PROGRAM, "waiting", str(tmp_path)], 2, transport, options=("-disable-auto-cleanup",),
                              settings={"PENSTOCK_PATIENCE": "2"})
        program.wait_until(lambda: all((tmp_path / f"absent-{rank}").exists() for rank in (2, 3)), 30, "two writes")
        if what == "host":
            hosts.power_off("host2")
        else:
            hosts.on("host2", "kill", "-KILL", (tmp_path / "absent-3").read_text())
        said = re.compile(r"penstock: .*waited for .* in write \(call 3\) of '.*x\.npy'.*not there yet: .*[23]")
        program.wait_until(lambda: said.search(program.output()), 15, "a line that says who is missing")
        program.end()


@over_each_transport
def test_a_cable_may_be_out_for_three_seconds(transport, tmp_path):
    def step():
        return int((tmp_path / "step").read_text()) if (tmp_path / "step").exists() else 0

    with Hosts(2) as hosts:
        program = hosts.start([*PROGRAM, "steps", str(tmp_path)], 2, transport)
        program.wait_until(lambda: step() >= 5, 60, "five steps")
        hosts.plug("host2", "down")
        time.sleep(0.5)
        before = step()
        time.sleep(2.5)
        assert step() <= before + 1, "the cable is out, but the program goes on"
        hosts.plug("host2", "up")
        program.wait_until(lambda: step() >= before + 5, 60, "five more steps")
        (tmp_path / "stop").touch()
        assert "right after" in program.finish(60)


@over_each_transport
def test_a_file_that_is_another_one_on_each_host_is_refused(transport, tmp_path):
    with Hosts(2) as hosts:
        output = hosts.run([*PROGRAM, "private", str(tmp_path)], 2, transport)
    assert "w refused" in output and "r refused" in output, output


# Page caches of hosts that do not agree, with a real file system.
CACHES = """
collective = ["auto", "extended", "two-phase", "gather"]
for seed, hints in enumerate([{}, {"storage": "direct"}, {"storage": "uring"}, {"active_buffer_size": 0}]):
    facts, device = run(f"{folder}/x{seed}.npy", seed, hints, collective)
    assert facts["type"] == "fuse" and facts["several_caches"], facts
for seed in range(11, 15):
    run(f"{folder}/all{seed}.npy", seed, {}, ["auto", "extended", "direct", "sieved"])
"""
CHUNKS = """
run(f"{folder}/x.zarr", 1, {}, ["auto", "extended"], chunks=(7, 9))
run(f"{folder}/y.zarr", 2, {}, ["auto"], chunks=(4, 8), shards=(16, 16))
"""


@pytest.mark.slow
@pytest.mark.skipif("not gluster.is_there()", reason="needs glusterfs-server, glusterfs-client and /dev/fuse")
@over_each_transport
@pytest.mark.parametrize("count, each", [(2, 1), (2, 2)])
def test_the_models_hold_on_glusterfs(transport, count, each, tmp_path):
    model = (Path(__file__).parents[1] / "support/cache_model.py").read_text()
    for name, program in (("arrays", CACHES), ("chunks", CHUNKS)):
        (tmp_path / f"{name}.py").write_text(model + program)
    with Hosts(count) as hosts:
        with gluster.Volume(hosts) as volume:
            hosts.run([sys.executable, str(tmp_path / "arrays.py"), str(volume.at)], each, transport, timeout=TIMEOUT)
            assert volume.on_bricks("all11.npy")
        # Else clients know for a second what a name was: that chunks are replaced, and what others write at all.
        with gluster.Volume(hosts, {"performance.stat-prefetch": "off"}) as volume:
            hosts.run([sys.executable, str(tmp_path / "chunks.py"), str(volume.at)], each, transport, timeout=TIMEOUT)
            command = [str(MODELS / "random_model"), "--cases", "60", "--folder", str(volume.asked)]
            output = hosts.run(command, each, transport, timeout=TIMEOUT)
    assert "agree with the model" in output, output
