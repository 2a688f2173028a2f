"""Runs on the machines of a cluster: a scheduler of dask.distributed and its workers. Nothing of dask is imported before one is asked for."""
