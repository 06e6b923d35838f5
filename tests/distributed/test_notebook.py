"""Engines of ipyparallel, as a notebook drives them: MPI starts them, and nothing but MPI connects them."""
from __future__ import annotations

import os

import pytest

from .running import TOP, needs_mpi


@needs_mpi
def test_engines_form_a_group_and_survive_calls_that_do_not_match(tmp_path, monkeypatch) -> None:
    parallel = pytest.importorskip("ipyparallel", reason="ipyparallel is not installed")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TOP), os.environ.get("PYTHONPATH", "")]))
    cluster = parallel.Cluster(engines="mpi", n=2, profile_dir=str(tmp_path / "profile"), log_level=40)
    try:
        client = cluster.start_and_connect_sync()
        view = client[:]
        view.execute("import mindtorch as torch, mindtorch.distributed as dist\ndist.init_process_group('mpi')",
                     block=False).get(timeout=60)
        failed = view.execute("dist.all_reduce(torch.ones(2 + dist.get_rank()))", block=False)
        with pytest.raises(parallel.CompositeError) as raised:
            failed.get(timeout=60)
        assert str(raised.value).count("rank 1: all_reduce(SUM, float32[3]) at cell") == 2
        view.execute("x = torch.ones(2)\ndist.all_reduce(x)", block=False).get(timeout=60)
        assert view.pull("x", block=False).get(timeout=60)[1].tolist() == [2, 2]
    finally:
        cluster.stop_cluster_sync()
