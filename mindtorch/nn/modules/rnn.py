"""Recurrent networks; mirrors ``torch.nn.modules.rnn``."""
from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from ..._base.call_site import outside
from ..._creation import empty, zeros
from ..._methods.functions import gru, gru_cell, lstm, lstm_cell, rnn_relu, rnn_relu_cell, rnn_tanh, rnn_tanh_cell
from ..._tensor import Tensor
from .. import init
from ..module import Module
from ..parameter import Parameter
from ..utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

Sizes = tuple[int, int, int]
#: Of each mode: the operator, and how many gates a cell has.
MODES: dict[str, tuple[Any, int]] = {"LSTM": (lstm, 4), "GRU": (gru, 3), "RNN_TANH": (rnn_tanh, 1),
                                     "RNN_RELU": (rnn_relu, 1)}


def draw_uniform(module: Any) -> None:
    """Draw all parameters anew, uniform in ±1/sqrt(hidden_size)."""
    bound = 1 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNBase(Module):
    """Base class of RNN, LSTM and GRU (``torch.nn.RNNBase``).

    For each layer and direction there are ``weight_ih_l0`` (gates * hidden_size, input size of the layer),
    ``weight_hh_l0`` (gates * hidden_size, hidden_size), ``bias_ih_l0`` and ``bias_hh_l0`` (gates * hidden_size,), with
    the layer's number and ``_reverse``; and with ``proj_size`` ``weight_hr_l0`` (proj_size, hidden_size).
    """

    __constants__: tuple[str, ...] = ("mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first",
                                      "dropout", "bidirectional", "proj_size")
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if not isinstance(dropout, numbers.Real) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element "
                             "being zeroed")
        if dropout > 0 and num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                          f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                          stacklevel=outside())
        for name, value, kind in (("bias", bias, bool), ("batch_first", batch_first, bool),
                                  ("input_size", input_size, int), ("hidden_size", hidden_size, int)):
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in MODES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        rows, outputs = MODES[mode][1] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            columns = outputs * (1 + bidirectional) if layer else input_size
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns), "weight_hh": (rows, outputs)}
            if bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[:1 + bidirectional]:
                names = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
                for name, shape in names.items():
                    self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(list(names))
        self.reset_parameters()

    reset_parameters = draw_uniform

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: only cuDNN wants the weights of all layers in one piece of memory."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_flat_weights_names": self._flat_weights_names, "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {"proj_size": 0, **state}
        for derived in ("_flat_weights_names", "_flat_weights", "_flat_weight_refs"):
            state.pop(derived, None)
        super().__setstate__(state)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise RuntimeError unless the input is (steps, batch, input_size), or (elements, input_size) if packed."""
        dtype, dims = self._flat_weights[0].dtype, 3 if batch_sizes is None else 2
        if input.dtype != dtype:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). "
                             f"Convert input: input.to({dtype}), or convert model: model.to({input.dtype})")
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError("input.size(-1) must be equal to input_size. "
                               f"Expected {self.input_size}, got {input.size(-1)}")

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> Sizes:
        """Return the shape of a hidden state: (layers * directions, batch, proj_size or hidden_size)."""
        return (*self.get_expected_cell_size(input, batch_sizes)[:2], self.proj_size or self.hidden_size)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> Sizes:
        """Return the shape of a cell state: (layers * directions, batch, hidden_size)."""
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (1 + self.bidirectional), batch, self.hidden_size

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: Sizes,
                          msg: str = "Expected hidden size {}, got {}") -> None:
        """Raise RuntimeError unless ``hx`` has the expected shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise RuntimeError unless the input and the states have the expected shapes."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the sequences' states in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # A state is one tensor here, and two of a LSTM: what has to be done with each.

    def _begin(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        return zeros(self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype, device=input.device)

    def _check_dims(self, hx: Any, dims: int) -> None:
        if hx.dim() != dims:
            kind = "batched" if dims == 3 else "unbatched"
            raise RuntimeError(f"For {kind} {dims}-D input, hx should also be {dims}-D but got {hx.dim()}-D tensor")

    def _each(self, hx: Any, method: str, dim: int) -> Any:
        return getattr(hx, method)(dim)

    def _check_input_dims(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            name, tensor = ("RNN", " tensor") if self.mode.startswith("RNN") else (self.mode, "")
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{tensor} instead")

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Any, Any]:
        """Return the last layer's outputs (steps, batch, directions * size), and the last states of all layers.

        The input is (steps, batch, input_size), (batch, steps, input_size) with ``batch_first``, (steps, input_size)
        for one sequence, or a ``PackedSequence``, and so are the outputs. ``hx`` are the first states, by default 0.
        """
        packed = isinstance(input, PackedSequence)
        if packed:
            data, batch_sizes, sorted_indices, unsorted_indices = input
        else:
            data, batch_sizes, sorted_indices, unsorted_indices = input, None, None, None
            self._check_input_dims(data)
        single, batch_dim = not packed and data.dim() == 2, 0 if self.batch_first else 1
        if hx is not None and not packed:
            self._check_dims(hx, data.dim())
        if single:
            data = data.unsqueeze(batch_dim)
            hx = None if hx is None else self._each(hx, "unsqueeze", 1)
        hx = self._begin(data, batch_sizes) if hx is None else self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        operator, options = MODES[self.mode][0], (self.bias, self.num_layers, self.dropout, self.training,
                                                  self.bidirectional)
        if packed:
            output, *last = operator(data, batch_sizes, hx, self._flat_weights, *options)
            output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        else:
            output, *last = operator(data, hx, self._flat_weights, *options, self.batch_first)
        hidden = tuple(last) if len(last) > 1 else last[0]
        if single:
            output, hidden = output.squeeze(batch_dim), self._each(hidden, "squeeze", 1)
        return output, self.permute_hidden(hidden, unsorted_indices)

    def extra_repr(self) -> str:
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
                 "bidirectional": False}
        return f"{self.input_size}, {self.hidden_size}" + "".join(
            f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)


class RNN(RNNBase):
    """Layers of h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or of its relu (``torch.nn.RNN``).

    ``RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0,
    bidirectional=False)``; outputs and states are as in ``RNNBase.forward``.
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
                 bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 device: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        refuse_projection(kwargs)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, device=device, dtype=dtype, **kwargs)
        self.nonlinearity = nonlinearity


def refuse_projection(kwargs: dict[str, Any]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class LSTM(RNNBase):
    """Layers of long short-term memory (``torch.nn.LSTM``).

    ``LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    proj_size=0)``; a state is the pair of hidden and cell state, and ``weight_ih_l0`` holds the rows of the input gate,
    the forget gate, the candidate and the output gate.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        sizes = (self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes))
        for i, size in enumerate(sizes):
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else tuple(state.index_select(1, permutation) for state in hx)

    def _begin(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        return tuple(zeros(size, dtype=input.dtype, device=input.device) for size in (
            self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)))

    def _check_dims(self, hx: Any, dims: int) -> None:
        if hx[0].dim() != dims or hx[1].dim() != dims:
            kind = "batched" if dims == 3 else "unbatched"
            raise RuntimeError(f"For {kind} {dims}-D input, hx and cx should also be {dims}-D but got "
                               f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors")

    def _each(self, hx: Any, method: str, dim: int) -> Any:
        return tuple(getattr(state, method)(dim) for state in hx)


class GRU(RNNBase):
    """Layers of gated recurrent units (``torch.nn.GRU``).

    ``GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False)``;
    ``weight_ih_l0`` holds the rows of the reset gate, the update gate and the candidate.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


# -- single steps ------------------------------------------------------------------------------------------------------

class RNNCellBase(Module):
    """Base class of the cells: the weights of one step (``torch.nn.RNNCellBase``).

    ``weight_ih`` (num_chunks * hidden_size, input_size), ``weight_hh`` (num_chunks * hidden_size, hidden_size), and the
    biases ``bias_ih`` and ``bias_hh`` (num_chunks * hidden_size,), or None.
    """

    __constants__: tuple[str, ...] = ("input_size", "hidden_size", "bias")
    input_size: int
    hidden_size: int
    bias: bool
    bias_ih: Any
    bias_hh: Any
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        for name, shape in {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}.items():
            self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    reset_parameters = draw_uniform

    def extra_repr(self) -> str:
        described = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")
        other = getattr(self, "nonlinearity", "tanh")
        return described if other == "tanh" else f"{described}, nonlinearity={other}"

    def _check_dims(self, given: Tensor, what: str) -> None:
        if given.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {given.dim()}D instead")

    def _step(self, operator: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """Compute the next state with the operator of a cell with one state."""
        self._check_dims(input, "input")
        if hx is not None:
            self._check_dims(hx, "hidden")
        rows = input if input.dim() == 2 else input.unsqueeze(0)
        if hx is None:
            hx = zeros((rows.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
        elif rows is not input:
            hx = hx.unsqueeze(0)
        if operator is None:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        state = operator(rows, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return state if rows is input else state.squeeze(0)


class RNNCell(RNNCellBase):
    """One step h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or its relu (``torch.nn.RNNCell``).

    The input is (batch, input_size) or (input_size,), the state (batch, hidden_size) or (hidden_size,).
    """

    __constants__ = ("input_size", "hidden_size", "bias", "nonlinearity")

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step({"tanh": rnn_tanh_cell, "relu": rnn_relu_cell}.get(self.nonlinearity), input, hx)


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit (``torch.nn.GRUCell``).

    The input is (batch, input_size) or (input_size,), the state (batch, hidden_size) or (hidden_size,).
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory (``torch.nn.LSTMCell``).

    The input is (batch, input_size) or (input_size,), hidden and cell state (batch, hidden_size) or (hidden_size,).
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check_dims(input, "input")
        for i, state in enumerate(hx or ()):
            self._check_dims(state, f"hx[{i}]")
        rows = input if input.dim() == 2 else input.unsqueeze(0)
        if hx is None:
            hx = (zeros((rows.size(0), self.hidden_size), dtype=input.dtype, device=input.device),) * 2
        elif rows is not input:
            hx = hx[0].unsqueeze(0), hx[1].unsqueeze(0)
        hidden, memory = lstm_cell(rows, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (hidden, memory) if rows is input else (hidden.squeeze(0), memory.squeeze(0))
