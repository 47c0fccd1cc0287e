"""Containers that other programs open: HDF5, netCDF-4; and what makes xarray open Penstock's own."""
