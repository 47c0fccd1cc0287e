"""What the scripts that tests run under mpiexec begin with."""

SAME = """
import pytest
def same(kind, words, call):
    with pytest.raises(kind, match=words) as caught:
        call()
    texts = comm.allgather(str(caught.value))
    assert len(set(texts)) == 1, texts
    return caught.value
"""

HEAD = """
import errno, gc, os, signal, sys, time, traceback
import numpy as np
import penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
def ended(*what):  # at once, for all ranks: the others may be waiting for this one
    traceback.print_exception(*what)
    sys.stderr.flush()
    comm.Abort(1)
sys.excepthook = ended
""" + SAME
