"""Libraries that take tensors: safetensors, einops, Matplotlib, pandas and scikit-learn."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mindtorch as torch

SAFETENSORS = """
import sys, torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
path = sys.argv[1]
tensors = {"a": torch.arange(6.0).view(2, 3), "half": torch.ones(2, dtype=torch.bfloat16), "flag": torch.tensor([True])}
save_file(tensors, path, metadata={"by": "us"})
for loaded in (load_file(path), load(save(tensors)), torch.load(path)):
    assert all(torch.equal(loaded[name], x) and loaded[name].dtype is x.dtype for name, x in tensors.items())
with safe_open(path, framework="pt") as file:
    assert file.get_slice("a")[:, :2].tolist() == [[0, 1], [3, 4]]
net, other = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)
save_model(net, path + "2")
load_model(other, path + "2")
assert torch.equal(net.weight, other.weight)
"""
EINOPS = """
import torch
from einops import einsum, pack, rearrange, reduce, repeat
from einops.layers.torch import Rearrange
x = torch.arange(24.0).view(2, 3, 4).requires_grad_()
assert rearrange(x, "b (h w) c -> b c h w", w=1).shape == (2, 4, 3, 1)
assert repeat(x, "a b c -> a b c r", r=2).shape == (2, 3, 4, 2)
reduce(x, "b h c -> b c", "mean").sum().backward()
assert torch.allclose(x.grad, torch.full((2, 3, 4), 1 / 3)) and Rearrange("a b c -> a (b c)")(x).shape == (2, 12)
assert torch.equal(einsum(x, x, "a b c, a d c -> a b d"), x @ x.mT) and pack([x, x], "a b *")[0].shape == (2, 3, 8)
"""


@pytest.mark.parametrize(("library", "program"), [("safetensors", SAFETENSORS), ("einops", EINOPS)])
def test_libraries_that_import_torch_run_on_mindtorch(library: str, program: str, tmp_path: Path) -> None:
    pytest.importorskip(library)
    script = tmp_path / "program.py"
    script.write_text(program)
    ran = subprocess.run([sys.executable, "-m", "mindtorch", "run", str(script), str(tmp_path / "x.safetensors")],
                         capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_file_of_safetensors_loads_without_pytorch(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "x.safetensors"
    numpy.save_file({"a": torch.arange(3.0).numpy()}, path)
    assert torch.load(path)["a"].tolist() == [0, 1, 2]
    assert torch.load(path, map_location="meta")["a"].is_meta
    scales = torch.tensor([1.0, 4.0]).to(torch.float8_e8m0fnu)
    header = b'{"a":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(scales.view(torch.uint8).tolist()))
    assert torch.equal(torch.load(path)["a"].float(), scales.float())
    with pytest.raises(RuntimeError, match="with dict map_location is not supported"):
        torch.load(path, map_location={"cpu": "cpu"})


def test_matplotlib_draws_tensors() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    x, figure = torch.linspace(0, 1, 5), Figure()
    canvas, axes = FigureCanvasAgg(figure), figure.subplots()
    line, = axes.plot(x, x**2)
    axes.imshow(torch.rand(3, 4))
    axes.scatter(x, x, c=x)
    axes.bar(x, x, yerr=x)
    axes.hist(torch.rand(10))
    axes.fill_between(x, x)
    axes.axhline(x[1])
    axes.set_title(f"{x[1]:.2f}")
    canvas.draw()
    assert np.asarray(line.get_ydata()).tolist() == (x**2).tolist()


def test_pandas_takes_and_gives_tensors() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(torch.arange(6.0).view(3, 2), columns=["a", "b"])
    frame["c"] = torch.ones(3)
    assert frame.to_numpy().tolist() == [[0, 1, 1], [2, 3, 1], [4, 5, 1]] and frame["a"].dtype == np.float32
    assert torch.tensor(frame["a"]).tolist() == [0, 2, 4] and torch.tensor(frame.values).dtype is torch.float32
    assert pandas.Series(torch.arange(3)).tolist() == [0, 1, 2]


def test_scikit_learn_fits_tensors() -> None:
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    x = torch.randn(40, 3)
    y = (x.sum(1) > 0).long()
    train, test, _, _ = train_test_split(x, y, test_size=0.25, random_state=0)
    assert isinstance(train, torch.Tensor) and (train.shape, test.shape) == ((30, 3), (10, 3))
    model = LogisticRegression().fit(StandardScaler().fit_transform(x), y)
    assert accuracy_score(y, model.predict(StandardScaler().fit_transform(x))) > 0.9
