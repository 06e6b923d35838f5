"""Lesson 27: what does an operator of your own need?"""
from __future__ import annotations

from functools import partial
from itertools import count

from ..limits import LOADING
from ..tasks import Lab, lesson
from . import torch

_numbers = count()
ASPECTS = (
    "its schema", "its values", "its values for another dtype", "its values for no rows", "x afterwards",
    "its result on a fake tensor", "its result on a fake tensor of another dtype", "the graph of its sum",
    "its derivative for equal weights", "its derivative for other weights", "opcheck",
)


def _x():
    return torch.tensor([[0.0, 1.0], [2.0, -1.0], [0.5, 3.0]])


def _weights():
    return torch.tensor([[1.0, 2.0, 0.5], [-1.0, 4.0, 0.0], [3.0, 1.0, 2.0]])


def _fake(op, dtype):
    from ..._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        found = op(torch.empty(5, 2, dtype=dtype))
        return found.shape[0], found.shape[1:].numel(), str(found.dtype), type(found).__name__


def _derivative(op, weights):
    x = _x().requires_grad_()
    (op(x) * weights).sum().backward()
    return x.grad


def _graph(op):
    from ...fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: op(x).sum(), tracing_mode="fake")(_x())
    return [str(node.target).split(".")[1] for node in graph.graph.nodes if node.op == "call_function"]


def _opcheck(op):
    found = torch.library.opcheck(op, (_x().requires_grad_(),), raise_exception=False)
    return [f"{name}: {'passes' if said == 'SUCCESS' else 'fails'}" for name, said in found.items()]


def _run(function, aspect):
    """Return observations of the operator that a part defines."""
    name = f"lab{next(_numbers)}::sqdist"
    op = function(name)
    if not isinstance(op, torch.library.CustomOpDef):
        return {"what define returns": "not the operator of custom_op"}
    x = _x()
    match aspect:
        case "its schema":
            return {"the schema": str(op._opoverload._schema).replace(name, "sqdist"),
                    "whether torch.ops has it": hasattr(getattr(torch.ops, name.partition("::")[0]), "sqdist")}
        case "its values":
            return {"the result": op(x)}
        case "its values for another dtype":
            return {"the result": op(x.double())}
        case "its values for no rows":
            return {"the result": op(x[:0])}
        case "x afterwards":
            op(x)
            return {"x": x}
        case "its result on a fake tensor":
            return {"shape, dtype and type": _fake(op, torch.float32)}
        case "its result on a fake tensor of another dtype":
            return {"shape, dtype and type": _fake(op, torch.float64)}
        case "the graph of its sum":
            return {"the operators": _graph(op)}
        case "its derivative for equal weights":
            return {"x.grad": _derivative(op, 1.0)}
        case "its derivative for other weights":
            return {"x.grad": _derivative(op, _weights())}
        case _:
            return {"opcheck": _opcheck(op)}


LESSON = lesson(
    "custom", define=partial(
        Lab, cases=tuple((aspect,) for aspect in ASPECTS), run=_run, describe=str, seconds=LOADING))
