"""Operators that torchaudio has in C++, for loops over samples: ``torch.ops.load_library`` of its library defines them.

Of its operators, alignment says that it is not built in, as torchaudio asks first; there is no ``rnnt_loss_forward``.
"""
from __future__ import annotations

import numpy as np

from .._tensor import Tensor
from ..library import Library

_library: list[Library] = []


def define() -> None:
    """Define the operators, unless they are."""
    if _library:
        return
    _library.extend([Library("_torchaudio", "FRAGMENT"), Library("torchaudio", "FRAGMENT")])
    for library, schema, kernel in (
            (_library[0], "is_align_available() -> bool", lambda: False),
            (_library[0], "cuda_version() -> int?", lambda: None),
            (_library[1], "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, "
             "Tensor(a!) padded_output_waveform) -> Tensor(a!)", _lfilter),
            (_library[1], "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, "
             "Tensor(c!) output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))", _overdrive)):
        library.impl(library.define(schema), kernel, "CompositeExplicitAutograd")


def _lfilter(windows: Tensor, coefficients: Tensor, padded: Tensor) -> Tensor:
    """Filter recursively: each output is a window's value less the weighted outputs before it."""
    values, weights, out = (tensor.detach().numpy() for tensor in (windows, coefficients, padded))
    order = weights.shape[1]
    for i in range(values.shape[2]):
        out[:, :, i + order - 1] = values[:, :, i] - np.einsum("nck,ck->nc", out[:, :, i:i + order], weights)
    return padded


def _overdrive(waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor,
               output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Remove the constant part of ``temp`` sample by sample, and mix it with the waveform."""
    clean, driven, before, after, out = (x.detach().numpy() for x in (waveform, temp, last_in, last_out, output))
    for i in range(clean.shape[-1]):
        after[:] = driven[:, i] - before + .995 * after
        before[:] = driven[:, i]
        out[:, i] = clean[:, i] * .5 + after * .75
    return last_in, last_out, output
