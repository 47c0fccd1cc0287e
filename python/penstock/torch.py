"""Checkpoints of `torch.distributed.checkpoint` as safetensors files, written and read by all ranks together.

>>> import torch.distributed.checkpoint as dcp
>>> dcp.save(state, storage_writer=penstock.torch.StorageWriter("model.safetensors", comm=MPI.COMM_WORLD))
>>> dcp.load(state, storage_reader=penstock.torch.StorageReader("model.safetensors", comm=MPI.COMM_WORLD))

The ranks of torch.distributed must be processes that an MPI launcher started. Importing this module imports torch.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
import torch
from torch.distributed.checkpoint import storage
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    SavePlan,
    SavePlanner,
    WriteItemType,
)
from torch.futures import Future

from ._core import ArgumentError
from ._tensors import dcp, pending
from ._tensors.dtypes import BITS
from ._tensors.header import Entry
from ._tensors.load import load_tensors, read_entries
from ._tensors.meeting import Meeting
from ._tensors.pending import SaveHandle
from ._tensors.save import save_tensors
from ._types import Comm, Path
from ._values import comm_address, path_bytes

__all__ = ["StorageReader", "StorageWriter"]

_NAMES = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "F16": "float16",
          "BF16": "bfloat16", "I32": "int32", "U32": "uint32", "F32": "float32", "C64": "complex64", "F64": "float64",
          "I64": "int64", "U64": "uint64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
          "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz"}
_TYPES = {name: getattr(torch, said) for name, said in _NAMES.items() if hasattr(torch, said)}
_SAID = {dtype: name for name, dtype in _TYPES.items()}
_STAGE = 1 << 26  #: bytes of pinned memory through which a GPU's tensors come and go


def _name_of(dtype: torch.dtype) -> str:
    if dtype not in _SAID:
        raise ArgumentError(f"{dtype} is not a type of safetensors; those are {', '.join(map(str, _SAID))}")
    return _SAID[dtype]


def _memory(tensor: torch.Tensor) -> np.ndarray:
    """Of a tensor of the CPU, not a copy. As bits, where NumPy has no such type."""
    name = _name_of(tensor.dtype)
    if name != "BF16" and not name.startswith("F8"):
        return tensor.numpy()
    bits = tensor.view(torch.int16 if BITS[name] == 16 else torch.uint8)
    return bits.numpy().view(f"u{BITS[name] // 8}")


def _copy_in_pieces(source: torch.Tensor, target: torch.Tensor, stage: torch.Tensor) -> None:
    """`target` is contiguous; `stage`: memory in between, of one dimension."""
    source, target = source.reshape(-1), target.view(-1)
    for begin in range(0, len(source), len(stage)):
        piece = stage[: len(source) - begin]
        piece.copy_(source[begin : begin + len(piece)])
        target[begin : begin + len(piece)].copy_(piece)


def _copy(source: torch.Tensor, target: torch.Tensor) -> None:
    """Between the CPU and what may be a GPU."""
    on_gpu = source.is_cuda or target.is_cuda
    if not on_gpu or source.dtype != target.dtype or not target.is_contiguous() or not source.numel():
        target.copy_(source)
        return
    count = min(source.numel(), max(1, _STAGE // source.element_size()))
    _copy_in_pieces(source, target, torch.empty(count, dtype=source.dtype, pin_memory=True))


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.device.type == "cpu":
        return tensor
    host = torch.empty(tensor.shape, dtype=tensor.dtype)
    _copy(tensor, host)
    return host


def _done(value: Any) -> Future:
    future: Future = Future()
    future.set_result(value)
    return future


class _Storage:
    """What a writer and a reader have in common."""

    def __init__(self, path: Path, comm: Comm, hints: Optional[Mapping[str, Any]]):
        self._comm, self._address, self._hints = comm, comm_address(comm), hints
        self.reset(path)

    def reset(self, checkpoint_id: Optional[Path] = None) -> None:
        """Called by torch: the path of what follows; None: as before."""
        if checkpoint_id is not None:
            self.checkpoint_id = os.fsdecode(path_bytes(checkpoint_id))

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Path) -> bool:
        """Called by torch: whether it is a path."""
        return isinstance(checkpoint_id, (str, os.PathLike)) and "://" not in os.fspath(checkpoint_id)

    def prepare_local_plan(self, plan: Any) -> Any:
        """Called by torch."""
        return plan

    def _meeting(self) -> Meeting:
        """Collective: earlier saves have ended."""
        pending.settle(self._comm)
        return Meeting(self._comm, self._address, path_bytes(self.checkpoint_id))

    def _check_ranks(self, count: int) -> None:
        """Torch makes all ranks raise this."""
        size = 1 if self._comm is None else self._comm.Get_size()
        if size == 1 != count:
            raise ArgumentError(
                f"torch.distributed has {count} ranks, and the MPI communicator one process: either no MPI launcher "
                f"started the program (torchrun is none), or comm is missing. Start it with 'mpiexec -n {count} python "
                f"program.py' or 'srun -n {count} python program.py', call init_process_group with the rank "
                "and the size of MPI.COMM_WORLD, and pass comm=MPI.COMM_WORLD")
        if size != count:
            raise ArgumentError(f"torch.distributed has {count} ranks in this call, and the MPI communicator {size}: "
                                "the process group and comm must be the same processes")


class StorageWriter(_Storage, storage.StorageWriter):
    """Writes what ``torch.distributed.checkpoint.save`` passes into one safetensors file, in one collective operation.

    The names are those of the flattened state dict. Objects that are no tensors are pickled by torch and stored as
    tensors of bytes, named ``penstock.bytes.NAME``. An old file is there as it was until the new one is whole.

    Args:
        path: The file; with ``max_file_size`` a folder. ``checkpoint_id`` of ``save`` replaces it.
        comm: An mpi4py communicator of the processes of torch's process group. None: this process alone.
        metadata: As in `penstock.save_tensors`. Default: ``{"format": "pt"}``, which Hugging Face's libraries expect.
        max_file_size: As in `penstock.save_tensors`.
        checksums: As in `penstock.save_tensors`.
        hints: As in `penstock.open`.
        wait: False: ``save`` returns when the tensors may be changed again, and ``pending`` has the handle. The file is
            in place after its ``wait()``, which the next save or load with this communicator makes up for.

    Torch raises CheckpointException on all ranks, whose ``failures`` have what each rank raised, as
    `penstock.save_tensors` has it.
    """

    #: Of the last save with ``wait=False``; else None.
    pending: Optional[SaveHandle] = None

    def __init__(self, path: Path, *, comm: Comm = None, metadata: Optional[Mapping[str, str]] = None,
                 max_file_size: Union[str, int, None] = None, checksums: bool = False,
                 hints: Optional[Mapping[str, Any]] = None, wait: bool = True):
        super().__init__(path, comm, hints)
        self._how: dict[str, Any] = {"metadata": {"format": "pt"} if metadata is None else metadata, "wait": wait,
                                     "max_file_size": max_file_size, "checksums": checksums}

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Called by torch."""
        if not kwargs.get("use_collectives", True):
            raise ArgumentError("use_collectives=False: the ranks write one file together, which torch must plan")

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Called by torch on one rank."""
        self._check_ranks(len(plans))
        return plans

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        """Called by torch. Collective."""
        meeting = self._meeting()
        tensors: dict[str, Any] = {}
        sizes = meeting.check(lambda: [self._resolve(item, planner, tensors) for item in plan.items])
        told, texts = meeting.gather(plan.planner_data), list[bytes]()
        meeting.first(lambda: texts.append(dcp.paths_text(told)))
        if texts and texts[0]:
            tensors[dcp.PATHS] = np.frombuffer(texts[0], "u1")
        self.pending = save_tensors(self.checkpoint_id, tensors, comm=self._comm, hints=self._hints, **self._how)
        return _done([storage.WriteResult(item.index, size, None) for item, size in zip(plan.items, sizes)])

    def _resolve(self, item: Any, planner: SavePlanner, tensors: dict[str, Any]) -> int:
        """Adds it to the tensors. Bytes."""
        name: str = item.index.fqn
        data: Any = planner.resolve_data(item)
        if item.type == WriteItemType.BYTE_IO:
            dcp.put_bytes(tensors, name, data.getbuffer())
            return len(data.getbuffer())
        try:
            array, chunk = _memory(_on_host(data)), item.tensor_data.chunk
            if array.shape != tuple(chunk.sizes):
                raise ArgumentError(f"the plan says shape {tuple(chunk.sizes)}, the planner gave {array.shape}")
            dcp.put_part(tensors, name, array, chunk.offsets, item.tensor_data.size, _name_of(data.dtype))
        except (ArgumentError, TypeError, RuntimeError) as error:  # sparse or quantized, too
            raise ArgumentError(f"tensor {name!r}: {error}") from None
        return array.nbytes

    def finish(self, metadata: Metadata, results: Sequence[Any]) -> None:
        """Called by torch: the file has all of it by then."""

    def storage_meta(self) -> StorageMeta:
        """Called by torch."""
        return StorageMeta(checkpoint_id=self.checkpoint_id)


def _described(entry: Entry, name: str) -> TensorStorageMetadata:
    """As one chunk: any part of it can be read."""
    if entry.dtype not in _TYPES:
        raise ArgumentError(f"tensor {name!r} is of {entry.dtype}, which torch {torch.__version__} has no dtype for")
    size = torch.Size(entry.shape)
    return TensorStorageMetadata(TensorProperties(dtype=_TYPES[entry.dtype]), size,
                                 [ChunkStorageMetadata(torch.Size([0] * len(size)), size)])


class StorageReader(_Storage, storage.StorageReader):
    """Reads for ``torch.distributed.checkpoint.load``, in any sharding and on any number of ranks.

    The file may be any of safetensors, also one that no `StorageWriter` wrote: its header is all that torch needs. Each
    rank reads the parts it wants, into the tensors' own memory where they are on the CPU and of the file's dtype.

    Args:
        path: A file; or a folder with a ``model.safetensors.index.json``. ``checkpoint_id`` of ``load`` replaces it.
        comm: An mpi4py communicator of the processes of torch's process group. None: each process reads for itself.
        hints: As in `penstock.open`.

    Torch unpickles the objects that are no tensors: load only files from those whom you trust.
    """

    def __init__(self, path: Path, *, comm: Comm = None, hints: Optional[Mapping[str, Any]] = None):
        super().__init__(path, comm, hints)
        self._entries: dict[str, Entry] = {}

    def read_metadata(self) -> Metadata:
        """Called by torch. Collective."""
        path = self.checkpoint_id
        entries = read_entries(path, self._comm, self._hints)
        found, text = dcp.contents(entries, path), b""
        state: dict[str, Any] = {name: _described(entry, name) for name, entry in found.tensors.items()}
        state.update({name: BytesStorageMetadata() for name in found.bytes})
        if found.has_paths:
            text = self._load([dcp.PATHS])[dcp.PATHS].tobytes()
        self._entries = entries
        return Metadata(state, planner_data=dcp.paths_of(text, state, path),
                        storage_meta=StorageMeta(checkpoint_id=path))

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Called by torch."""

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Called by torch on one rank."""
        if self._comm is not None:
            self._check_ranks(len(plans))
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Called by torch. Collective."""
        meeting, wanted = self._meeting(), dict[str, Any]()
        targets = meeting.check(lambda: [self._wish(item, planner, wanted) for item in plan.items])
        got = self._load(wanted)

        def pass_on() -> None:
            for item, (target, host) in zip(plan.items, targets):
                if target is None:
                    planner.load_bytes(item, io.BytesIO(got[dcp.BYTES + item.storage_index.fqn].tobytes()))
                    continue
                if host is not target:
                    _copy(host, target)
                planner.commit_tensor(item, target)

        meeting.check(pass_on)
        return _done(None)

    def _load(self, wanted: Any) -> dict[str, Any]:
        return load_tensors(self.checkpoint_id, wanted, comm=self._comm, hints=self._hints)

    def _wish(self, item: Any, planner: LoadPlanner, wanted: dict[str, Any]) -> tuple[Any, Any]:
        """Adds what is wanted. Where it goes, and the memory on the host that is filled; of bytes nothing."""
        name = item.storage_index.fqn
        if item.type == LoadItemType.BYTE_IO:
            wanted[dcp.BYTES + name] = ...
            return None, None
        target, entry = planner.resolve_tensor(item).detach(), self._entries[name]
        if target.shape != item.lengths:
            raise ArgumentError(f"tensor {name!r}: the plan says shape {tuple(item.lengths)}, the planner gave "
                                f"{tuple(target.shape)}")
        dtype, host = _TYPES[entry.dtype], target
        if target.device.type != "cpu" or target.dtype != dtype or target.is_conj() or target.is_neg():
            host = torch.empty(target.shape, dtype=dtype)
        dcp.put_part(wanted, name, _memory(host), item.storage_offsets, entry.shape, entry.dtype)
        return target, host
