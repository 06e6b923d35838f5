"""An LSTM with int8 weights (``torch.ao.nn.quantized.dynamic.LSTM``)."""
from __future__ import annotations

from typing import Any

from ....._creation import zeros
from ....._dispatch import aten
from .....nn.module import Module
from .linear import linear_dynamic, quantize_weight


class LSTM(Module):
    """An LSTM with int8 weights, that quantises its input, and its hidden state at each step."""

    def __init__(self, mod: Any) -> None:
        super().__init__()
        for name in ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional"):
            setattr(self, name, getattr(mod, name))
        self._cells: list[list[tuple[Any, Any, Any, Any]]] = []
        observer = mod.qconfig.weight
        for layer in range(self.num_layers):
            ends = [f"l{layer}{back}" for back in ("", "_reverse")[:1 + self.bidirectional]]
            self._cells.append([(*(quantize_weight(getattr(mod, f"weight_{at}_{end}"), observer())
                                   for at in ("ih", "hh")),
                                 *(getattr(mod, f"bias_{at}_{end}").detach() if self.bias else None
                                   for at in ("ih", "hh"))) for end in ends])

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LSTM:
        """Return the quantised layer of an LSTM. Raises AssertionError for one without a ``qconfig``."""
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        if mod.proj_size:
            raise NotImplementedError("an LSTM with a projection (proj_size) is not quantised")
        return cls(mod)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the output of each step, and the last hidden and cell state, as ``torch.nn.LSTM`` does."""
        batched = input.ndim == 3
        steps = input if batched else input.unsqueeze(1)
        steps = steps.transpose(0, 1) if self.batch_first and batched else steps
        ways = 1 + self.bidirectional
        if hx is None:
            state = zeros(self.num_layers * ways, steps.shape[1], self.hidden_size, dtype=input.dtype)
            hidden, cell = state, state
        else:
            hidden, cell = hx if batched else (each.unsqueeze(1) for each in hx)
        last: list[tuple[Any, Any]] = []
        for layer, cells in enumerate(self._cells):
            outs = []
            for way, weights in enumerate(cells):
                out, *ends = self._run(steps, hidden[layer * ways + way], cell[layer * ways + way], weights, way == 1)
                outs.append(out)
                last.append((ends[0], ends[1]))
            steps = outs[0] if ways == 1 else aten.cat(outs, -1)
        hidden, cell = (aten.stack(list(each), 0) for each in zip(*last, strict=True))
        if not batched:
            return steps.squeeze(1), (hidden.squeeze(1), cell.squeeze(1))
        return steps.transpose(0, 1) if self.batch_first else steps, (hidden, cell)

    def _run(self, steps: Any, hidden: Any, cell: Any, weights: Any, back: bool) -> tuple[Any, Any, Any]:
        """Run one layer in one direction. The input of all steps is quantised at once, as PyTorch does."""
        w_ih, w_hh, b_ih, b_hh = weights
        inputs = linear_dynamic(steps, w_ih, b_ih)
        outs = []
        for step in range(steps.shape[0])[::-1 if back else 1]:
            gates = (inputs[step] + linear_dynamic(hidden, w_hh, b_hh)).chunk(4, 1)
            remembered, new = aten.sigmoid(gates[1]) * cell, aten.sigmoid(gates[0]) * aten.tanh(gates[2])
            cell = remembered + new
            hidden = aten.sigmoid(gates[3]) * aten.tanh(cell)
            outs.append(hidden)
        return aten.stack(outs[::-1] if back else outs, 0), hidden, cell

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTM"

    def extra_repr(self) -> str:
        """Return the sizes, and options that are not the defaults."""
        said = [f"{self.input_size}, {self.hidden_size}"]
        for name, default in (("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
                              ("bidirectional", False)):
            if getattr(self, name) != default:
                said.append(f"{name}={getattr(self, name)}")
        return ", ".join(said)
