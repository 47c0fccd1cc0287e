"""Traces: what each rank did and when, as PENSTOCK_TRACE=FOLDER records it; docs/traces.md describes the files."""
