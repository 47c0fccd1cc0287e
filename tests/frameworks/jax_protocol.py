"""Saves, loads in other shardings and compares, and writes down which shards each process had: FILE RECORD"""

import json
import sys

import jax
import numpy as np
import penstock as ps
from jax_state import DTYPES, SHAPES, SPECS, TURNED, arrays, comm, sharding, whole

path, record = sys.argv[1:]
saved = arrays(SPECS)
ps.save_tensors(path, saved, comm=comm)
places = {name: sharding(TURNED[name]).addressable_devices_indices_map(SHAPES[name]) for name in TURNED}
wanted = {name: [ps.Shard(None, index or None) for index in where.values()] for name, where in places.items()}
for name, parts in ps.load_tensors(path, wanted, comm=comm).items():
    on_devices = [jax.device_put(part, device) for part, device in zip(parts, places[name])]
    array = jax.make_array_from_single_device_arrays(SHAPES[name], sharding(TURNED[name]), on_devices)
    for shard in array.addressable_shards:
        assert np.array_equal(np.asarray(shard.data), whole(name)[shard.index]), name
told = {name: {"shape": SHAPES[name], "dtype": DTYPES.get(name, "float32"), "shards": comm.gather(
    [{"index": [[part.start, part.stop] for part in shard.index], "replica_id": shard.replica_id}
     for shard in array.addressable_shards])} for name, array in saved.items()}
if comm.rank == 0:
    with open(record, "w") as file:
        json.dump(told, file)
# A process's own array, of which each has the same, and one that differs.
ps.save_tensors(path, {"own": jax.numpy.arange(5)}, comm=comm)
try:
    ps.save_tensors(path, {"own": jax.numpy.arange(5) + comm.rank}, comm=comm)
except ps.DisagreementError as error:
    assert "'own'" in str(error), error
else:
    raise AssertionError("no DisagreementError")
assert ps.load_tensors(path, comm=comm)["own"].tolist() == list(range(5))
