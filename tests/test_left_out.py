"""A name that PyTorch has and mindtorch lacks raises one line that says so; ``differences.md`` lists such names."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch._base.left_out import IMPORTED, LEFT_OUT, ROWS, reason

DIFFERENCES = Path(__file__).with_name("differences.md")


@pytest.mark.parametrize(("statement", "error", "said"), [
    ("torch.mtia", "AttributeError", "mindtorch leaves out torch.mtia: there is no such device"),
    ("from torch import mtia", "ModuleNotFoundError", "mindtorch leaves out torch.mtia"),
    ("from torch.ao.quantization import HistogramObserver as Base\nclass Mine(Base): pass\nMine()", "RuntimeError",
     "mindtorch leaves out torch.ao.quantization: of quantisation there are observers"),
    ("torch.quantization.prepare(None)", "RuntimeError", "torch.ao.quantization.prepare cannot be used"),
    ("torch.jit.save(torch.jit.script(torch.nn.ReLU()), 'a.pt')", "RuntimeError", "TorchScript archives"),
    ("import torch.onnx; torch.onnx.export(None)", "mindtorch.onnx.OnnxExporterError",
     "mindtorch leaves out torch.onnx"),
    ("torch.nested.nested_tensor([torch.ones(2)])", "RuntimeError", "ask for layout=torch.jagged"),
    ("import sys; sys.modules['tensorboardX'] = None; import torch.utils.tensorboard", "ImportError",
     "pip install tensorboardX"),
    ("import torch.nowhere", "ModuleNotFoundError", "No module named 'torch.nowhere': mindtorch does not have it"),
    ("from torch import nothing", "ImportError", "cannot import name 'nothing' from 'torch'"),
    ("from torch.nn import Nothing", "ImportError", "cannot import name 'Nothing' from 'mindtorch.nn'"),
    ("torch.nothing", "AttributeError", "mindtorch does not have this name of PyTorch"),
    ("torch.hub.load('a', 'b')", "RuntimeError", "mindtorch fetches nothing from a network"),
    ("import sys; sys.modules['mpi4py'] = None; torch.distributed.init_process_group('gloo')", "RuntimeError",
     "pip install mpi4py mpich"),
    ("torch.distributed.get_rank()", "ValueError", "please make sure to call init_process_group"),
])
def test_one_line_says_what_is_missing(statement, error, said) -> None:
    program = f"import mindtorch; mindtorch.install_as_torch()\nimport torch\n{statement}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    last = run.stderr.strip().splitlines()[-1]
    assert run.returncode and last.startswith(error) and said in last


def test_a_module_does_not_take_the_place_of_the_function_of_its_name() -> None:
    program = ("import mindtorch; mindtorch.install_as_torch()\nimport torch\n"
               "from torch.autograd.gradcheck import GradcheckError\n"
               "from torch.nn.utils.weight_norm import WeightNorm\n"
               "assert callable(torch.autograd.gradcheck) and callable(torch.nn.utils.weight_norm)\n"
               "assert WeightNorm is mindtorch.nn.utils.weight_norm.__globals__['WeightNorm']")
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_asked_before_use_can_be_asked() -> None:
    assert not hasattr(torch, "mtia") and not torch.distributed.is_initialized()
    layer = torch.nn.Linear(2, 3)
    parallel = torch.nn.DataParallel(layer)
    assert parallel.module is layer and parallel(torch.ones(1, 2)).shape == (1, 3)
    with pytest.raises(ValueError, match="please make sure to call init_process_group"):
        torch.nn.parallel.DistributedDataParallel(layer)


def test_the_differences_list_the_names_that_are_left_out() -> None:
    text = DIFFERENCES.read_text()
    for names, why in ROWS.items():
        assert f"| {', '.join(f'`{name}`' for name in names.split())} | {why} |" in text
    assert reason("onnx.export") == reason("onnx") and reason("nn") is None


def test_what_is_left_out_is_not_there() -> None:
    for name in LEFT_OUT:
        if "." not in name:
            assert hasattr(torch, name) is (name in IMPORTED), name
