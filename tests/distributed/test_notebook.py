"""Ranks of a notebook: started by a magic, driven by ``%%px``, with what they say side by side."""
from __future__ import annotations

import os
import time

import pytest

from .running import TOP, needs_mpi, processes_with

TIMELINE = """%%timeline --ranks
optimizer.zero_grad()
loss = model(torch.ones(64, 100)).square().mean()
loss.backward()
optimizer.step()
"""
TRAIN = """layers = [layer for _ in range(3) for layer in (nn.Linear(100, 100), nn.ReLU())]
model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=0.05)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
import os, signal
"""
SHARD = """from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
sharded = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6))
for layer in (*sharded, sharded):
    fully_shard(layer)
d = distribute_tensor(torch.arange(10.), init_device_mesh("cpu", (3,), mesh_dim_names=("tp",)), [Shard(0)])
d
"""


@needs_mpi
def test_a_notebook_with_three_ranks(tmp_path, monkeypatch) -> None:
    pytest.importorskip("ipyparallel", reason="ipyparallel is not installed")
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TOP), os.environ.get("PYTHONPATH", "")]))
    token = f"MINDTORCH_TEST=notebook-{os.getpid()}"
    monkeypatch.setenv(*token.split("="))
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "mindtorch")

    def run(cell: str) -> tuple[str, str, BaseException | None]:
        """What a cell shows last, as text and as HTML, and the error with which it ends."""
        with capture_output() as captured:
            result = shell.run_cell(cell)
        data = captured.outputs[-1].data if captured.outputs else {}
        return data.get("text/plain", captured.stdout), data.get("text/html", ""), result.error_in_exec

    try:
        assert "3 ranks" in run("%ranks 3")[0]
        text, page, error = run("%%px\nx = torch.full((2,), float(dist.get_rank()))\nprint('here')\nx")
        assert error is None and page.count('class="mt-column"') == 3 and page.count("mt-card") >= 3
        assert text.split() == "".join(f"rank {rank} here tensor([{rank}., {rank}.]) " for rank in range(3)).split()

        text, page, error = run("%%px\ndist.all_reduce(torch.ones(2 + dist.get_rank() // 2))")
        assert "ranks 0, 1, 2 of 3 failed" in str(error) and page.count("mt-failed") == 1 + page.count(".mt-failed")
        for said in ("ranks 0, 1, 2\n", "rank 1: all_reduce(SUM, float32[2]) at cell", "rank 2: all_reduce(SUM, "):
            assert said in text
        text, _, error = run("%px dist.all_reduce(x), x")
        assert error is None and text.count("tensor([3., 3.])") == 3
        text, _, error = run("%%px --targets 1\nx")
        assert error is None and text.count("tensor([3., 3.])") == 1
        assert str(run("%%px --targets [0,7]\nx")[2]) == "%px: there is no rank 7, but ranks 0, 1, 2"

        assert run(f"%%px\n{TRAIN}")[2] is None
        text, page, error = run(f"%%px\n{TIMELINE}")
        assert error is None and "ranks 1, 2: no output" in text and "the ranks have one clock" in text
        for rank in range(3):
            assert f"rank {rank} network  ⇅ exchange bucket 2" in text
            assert f"rank {rank}  ▶ run loss.backward()" in text
        assert page.count("mt-rank") > 3

        text, page, error = run(f"%%px\n{SHARD}")
        assert error is None and all(page.count(f"<b>rank {rank} ◂ this</b>") == 1 for rank in range(3))
        assert page.count(">[0:4]<") == page.count(">[8:10]<") == 3
        text, _, error = run("%%px\n%%timeline --ranks\nsharded(torch.ones(2, 6)).sum().backward()")
        for said in ("gather Linear 0", "gather Linear 1", "reduce Linear 0"):
            assert error is None and f"rank 2 network  ⇅ exchange {said} " in text

        text, _, error = run("%%px\nif dist.get_rank() == 1: os.kill(os.getpid(), signal.SIGKILL)\ndist.barrier()")
        assert "ranks 0, 1, 2 of 3 failed" in str(error)
        assert "barrier() at cell" in text and "cannot be completed: rank 1 was killed" in text
        assert "%ranks 3 starts new ones" in str(run("%px 1")[2])
    finally:
        shell.run_line_magic("ranks", "0")
        shell.run_line_magic("unload_ext", "mindtorch")
        InteractiveShell.clear_instance()
    for _ in range(50):  # the controller takes a moment
        if not processes_with(token):
            break
        time.sleep(0.1)
    assert processes_with(token) == []
