"""netCDF-4: h5netcdf, on rank 0, makes variables in HDF5 files that netCDF's programs read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .._core import ArgumentError, FormatError, unlimited
from .._small_floats import WHO_HAS_THEM, is_foreign
from .hdf5 import Hdf5, allocate, found_in, layout_of, plain_attributes, versions
from .refusals import import_or_refuse
from .wanted import Found, Wanted

if TYPE_CHECKING:
    import h5netcdf
    import h5py

#: What h5netcdf puts before the name of a variable that is called like a dimension and is no coordinate of it.
NOT_A_COORDINATE = "_nc4_non_coord_"
#: How the name of a scale begins that is a dimension alone.
NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"


def check_names(wanted: Wanted) -> None:
    names = wanted.dim_names
    if names is None:
        raise ArgumentError(f"'{wanted.path}': dims= is needed for a netCDF variable: a name for each dimension, "
                            f"as dims=({', '.join(repr(n) for n in 'tzyx'[-len(wanted.new_shape):])},)")
    for name, values in wanted.dims or ():
        if values is not None and values.dtype.kind not in "iuf":
            raise ArgumentError(f"dimension {name!r}: coordinates of netCDF must be numbers, not {values.dtype}")


def check_element_type(dtype: np.dtype) -> None:
    """NetCDF-4 has integers of 1 to 8 bytes, float and double; and compounds of these, which few programs read."""
    if dtype.kind in "iu" and dtype.itemsize <= 8 or dtype.kind == "f" and dtype.itemsize in (4, 8):
        return
    instead = {"b": "'u1' or 'i1'", "c": "two variables, or an extent of 2 more", "f": "'f4' or 'f8'"}
    raise ArgumentError(f"dtype {dtype} is not one of netCDF's (integers, 'f4', 'f8', of either byte order); "
                        f"use {instead.get(dtype.kind, 'one of these')}, or container='hdf5'")


class NetCdf(Hdf5):
    """Variables of netCDF-4 files. Everything runs on rank 0, and leaves the file closed."""

    needs = ("h5py", "h5netcdf")

    def check_new(self, wanted: Wanted) -> None:
        """Raises for a variable that no file can have."""
        assert wanted.dtype is not None
        if is_foreign(wanted.dtype):
            raise ArgumentError(f"dtype {wanted.dtype} is not one of netCDF's (integers, 'f4', 'f8'): {WHO_HAS_THEM}; "
                                "or convert: array.astype('f4')")
        super().check_new(wanted)
        check_names(wanted)
        check_element_type(wanted.dtype)
        import_or_refuse("h5netcdf")

    def make(self, path: str, mode: str, wanted: Wanted, dry: bool = False) -> None:
        h5netcdf = import_or_refuse("h5netcdf")
        assert wanted.dataset is not None
        how: dict[str, Any] = {"driver": "core", "backing_store": False} if dry else {}
        if wanted.chunks and not dry and mode != "r+":
            h5netcdf.File(path, {"x": "w-"}.get(mode, mode)).close()
            mode = "r+"
        with h5netcdf.File(path, {"x": "w-", "r+": "a"}.get(mode, mode), **how, **versions(wanted)) as file:
            groups, _, name = wanted.dataset.strip("/").rpartition("/")
            group = self._group(file, groups)
            self._make_dimensions(group, wanted)
            layout = layout_of(wanted, dry)
            layout.pop("maxshape", None)  # as the dimensions say
            variable = group.create_variable(name, wanted.dim_names, wanted.dtype, **layout)
            allocate(variable._h5ds, wanted.dtype)
            if wanted.grows:  # others may have more along that dimension
                variable._h5ds.resize(wanted.new_shape)
            for attribute, value in wanted.attributes.items():
                variable.attrs[attribute] = value

    @staticmethod
    def _group(file: h5netcdf.File, path: str) -> h5netcdf.Group:
        group = file
        for name in filter(None, path.split("/")):
            group = group.groups[name] if name in group.groups else group.create_group(name)
        return group

    @staticmethod
    def _make_dimensions(group: h5netcdf.Group, wanted: Wanted) -> None:
        for (name, values), extent in zip(wanted.dims or (), wanted.shape or ()):
            if name not in group.dimensions:
                group.dimensions[name] = None if extent == unlimited else extent
                if values is not None:
                    group.create_variable(name, (name,), values.dtype, data=values)

    def check_beside(self, path: str, wanted: Wanted) -> None:
        h5netcdf = import_or_refuse("h5netcdf")
        with h5netcdf.File(path, "r") as file:
            group: Any = file
            for name in (wanted.dataset or "").strip("/").split("/")[:-1]:
                group = group.groups[name] if name in group.groups else {}
                if not group:
                    return
            for (name, values), extent in zip(wanted.dims or (), wanted.shape or ()):
                self._check_dimension(group, path, name, extent, values)

    @staticmethod
    def _check_dimension(group: h5netcdf.Group, path: str, name: str, extent: int, values: Any) -> None:
        if name not in group.dimensions:
            return
        dimension = group.dimensions[name]
        if dimension.isunlimited() != (extent == unlimited):
            is_so = "is unlimited" if dimension.isunlimited() else "is not unlimited"
            raise FormatError(f"'{path}': dimension {name!r} {is_so}: the shape of its variables must have "
                              f"{'None' if dimension.isunlimited() else dimension.size} there, or take another name")
        if extent == unlimited:
            return
        if dimension.size != extent:
            raise FormatError(f"'{path}': dimension {name!r} has {dimension.size} elements, not {extent}")
        if values is None:
            return
        if name not in group.variables or not np.array_equal(group.variables[name][...], values):
            raise FormatError(f"'{path}': dimension {name!r} exists already, with other coordinates or none")

    def dims_of(self, dataset: h5py.Dataset) -> Optional[tuple[str, ...]]:
        """As netCDF has them: a variable called like its first dimension is a scale itself."""
        h5netcdf = import_or_refuse("h5netcdf")
        with h5netcdf.File(dataset.file.filename, "r", phony_dims="access") as file:
            names = self._variable(file, dataset.name).dimensions
        return tuple(names) if names or dataset.shape == () else None

    def variables(self, path: str) -> tuple[dict[str, Any], dict[str, Found]]:
        h5netcdf = import_or_refuse("h5netcdf")
        found: dict[str, Found] = {}

        def look(group: Any) -> None:
            for name, variable in group.variables.items():
                dims = tuple(variable.dimensions) if variable.dimensions or variable.shape == () else None
                found[f"{group.name}/{name}".lstrip("/")] = found_in(variable._h5ds, dims, placed=False)
            for below in group.groups.values():
                look(below)

        with h5netcdf.File(path, "r", phony_dims="access") as file:
            look(file)
            return plain_attributes(file._h5group.attrs), found

    def make_file(self, path: str, mode: str, attributes: Mapping[str, Any]) -> None:
        h5netcdf = import_or_refuse("h5netcdf")
        with h5netcdf.File(path, {"x": "w-"}.get(mode, mode)) as file:
            for name, value in attributes.items():
                file.attrs[name] = value

    def is_array(self, dataset: h5py.Dataset) -> bool:
        """Dimensions without coordinates are datasets to HDF5, too."""
        return not dataset.is_scale or not bytes(dataset.attrs.get("NAME", b"")).startswith(NO_VARIABLE)

    def name_in_file(self, file: h5py.File, name: str) -> str:
        group, _, last = name.rpartition("/")
        renamed = f"{group}/{NOT_A_COORDINATE}{last}"
        return renamed if renamed in file else name

    def set_attribute(self, path: str, dataset: str, name: str, value: Any) -> None:
        h5netcdf = import_or_refuse("h5netcdf")
        with h5netcdf.File(path, "a") as file:
            self._variable(file, dataset).attrs[name] = value

    def delete_attribute(self, path: str, dataset: str, name: str) -> None:
        h5netcdf = import_or_refuse("h5netcdf")
        with h5netcdf.File(path, "a") as file:
            del self._variable(file, dataset).attrs[name]

    @staticmethod
    def _variable(file: h5netcdf.File, dataset: str) -> Any:
        """The file itself for "/"."""
        group: Any = file
        *groups, name = dataset.strip("/").split("/")
        if not name:
            return file
        for part in groups:
            group = group.groups[part]
        return group.variables[name.removeprefix(NOT_A_COORDINATE)]
