"""``torch._inductor``: options, settings, and the compiler of graphs that backends hand theirs on to."""
from __future__ import annotations

import importlib
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._dynamo.backends.common import aot_autograd
from mindtorch._inductor.compile_fx import compile_fx, compile_fx_inner


def test_options_are_those_of_inductor_by_name_and_type() -> None:
    double = torch.compile(lambda x: x * 2, options={"max-autotune": True, "triton.cudagraphs": False})
    assert double(torch.ones(1)).item() == 2
    for options, message in (({"max_autotunee": True}, "Unexpected optimization option max_autotunee, known options"),
                             ({"max_autotune": "yes"}, "Unexpected type of attr max_autotune, got str should be bool")):
        with pytest.raises(RuntimeError, match=message):
            torch.compile(len, options=options)
    with pytest.warns(UserWarning, match="is not called"):
        torch.compile(len, options={"post_grad_custom_pre_pass": print})
    torch.compile(len, options={"max_autotunee": True}, backend="eager")
    assert torch._inductor.list_mode_options("reduce-overhead") == {"triton.cudagraphs": True}
    assert {*torch._inductor.list_mode_options("max-autotune")} <= {*torch._inductor.list_options()}


@pytest.mark.parametrize("lib", ["mindtorch", "torch"])
def test_settings_of_inductor_are_read_set_and_patched(lib) -> None:
    pytest.importorskip(lib, reason="PyTorch, the reference of these tests, is not installed")
    config = importlib.import_module(f"{lib}._inductor.config")
    before = config.get_config_copy()
    assert config.epilogue_fusion is True and config.triton.cudagraphs is False and config.cpp.min_chunk_size == 512
    config.coordinate_descent_tuning = config.triton.unique_user_kernel_names = True
    with config.patch({"triton.cudagraphs": True}), config.patch(max_fusion_size=3):
        assert config.triton.cudagraphs is True and config.max_fusion_size == 3
    changed = {name for name, value in config.get_config_copy().items() if value != before[name]}
    assert changed == {"coordinate_descent_tuning", "triton.unique_user_kernel_names"}
    config.load_config(before)
    assert config.coordinate_descent_tuning is before["coordinate_descent_tuning"]
    for name in ("epilogue_fusions", "triton"):
        with pytest.raises(AttributeError):
            setattr(config, name, True)


def stepped(backend: Any) -> list[Any]:
    """Return a value and its gradients, compiled by a backend."""
    torch._dynamo.reset()
    x, w = torch.arange(6.0).reshape(2, 3).requires_grad_(), torch.ones(3, 2, requires_grad=True)
    loss = torch.compile(lambda x, w: (x @ w).relu().sum(), backend=backend)(x, w)
    loss.backward()
    return [loss.item(), x.grad.tolist(), w.grad.tolist()]


def test_a_backend_hands_its_graph_on_to_inductor() -> None:
    seen: list[str] = []

    def seeing(gm: Any, example_inputs: Any) -> Any:
        seen.extend(str(node.target) for node in gm.graph.nodes if node.op == "call_function")
        return compile_fx_inner(gm, example_inputs)

    wanted = stepped("eager")
    assert stepped(lambda gm, inputs: compile_fx(gm, inputs, config_patches={"epilogue_fusion": False})) == wanted
    assert stepped(lambda gm, inputs: compile_fx(gm, inputs, inner_compile=seeing)) == wanted
    assert "aten.mm.default" in seen and "aten.threshold_backward.default" in seen
    assert stepped(aot_autograd(fw_compiler=compile_fx_inner)) == wanted
    with pytest.raises(AttributeError, match="epilogue_fusions does not exist"):
        compile_fx(torch.fx.symbolic_trace(lambda x: x), [], config_patches={"epilogue_fusions": False})


def test_a_graph_is_compiled_by_itself() -> None:
    gm = torch.fx.symbolic_trace(lambda x: (x.sin() + 1,))
    (found,) = torch._inductor.compile(gm, [torch.zeros(2)])(torch.tensor([0.0, 1.0]))
    assert found.tolist() == (torch.tensor([0.0, 1.0]).sin() + 1).tolist()
