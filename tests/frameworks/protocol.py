"""Saves, or loads, and writes down what torch asks for on each rank: protocol.py save|load FILE RECORD"""

import json
import sys

import penstock.torch
import torch.distributed.checkpoint as dcp
from state import PLACES, TURNED, comm, same, state

what, path, record = sys.argv[1:]


def saved(item):
    data = item.tensor_data
    if data is None:
        return {"name": item.index.fqn}
    return {"name": item.index.fqn, "offsets": list(data.chunk.offsets), "sizes": list(data.chunk.sizes),
            "shape": list(data.size), "dtype": str(data.properties.dtype).removeprefix("torch.")}


def loaded(item):
    told = {"name": item.storage_index.fqn}
    if item.type == dcp.planner.LoadItemType.TENSOR:
        told.update(offsets=list(item.storage_offsets), sizes=list(item.lengths))
    return told


def put_down(plan, item, **more):
    told = comm.gather({"items": [item(one) for one in plan.items], **more})
    if comm.rank == 0:
        with open(record, "w") as file:
            json.dump(told, file)


class Writer(penstock.torch.StorageWriter):
    def write_data(self, plan, planner):
        put_down(plan, saved, paths=plan.planner_data)
        return super().write_data(plan, planner)


class Reader(penstock.torch.StorageReader):
    def read_data(self, plan, planner):
        put_down(plan, loaded)
        return super().read_data(plan, planner)


if what == "save":
    dcp.save(state(PLACES), storage_writer=Writer(path, comm=comm))
else:
    got = state(TURNED, blank=True)
    dcp.load(got, storage_reader=Reader(path, comm=comm))
    assert same(got, state(TURNED)), got
