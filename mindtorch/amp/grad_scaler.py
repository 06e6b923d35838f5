"""``torch.amp.GradScaler``: losses scaled up, so that gradients in float16 do not vanish."""
from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from .._autograd.grad_mode import no_grad
from .._creation import full
from .._dtype import float16, float32, int32
from .._tensor import Tensor


class OptState(Enum):
    """Where an optimizer is in its step (``torch.amp.grad_scaler.OptState``)."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf": None}


class GradScaler:
    """Scales losses, unscales gradients, and skips steps with infinite gradients (``torch.amp.GradScaler``).

    The scale grows by ``growth_factor`` after ``growth_interval`` good steps, and shrinks by ``backoff_factor`` after a
    bad one. For CUDA, which is missing here, a scaler is disabled: it changes nothing.
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True):
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._states: dict[int, dict[str, Any]] = defaultdict(_fresh_state)

    def _started(self, function: str) -> tuple[Tensor, Tensor]:
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(f"Attempted {function} but {name} is None.  This may indicate your script did not "
                                     "use scaler.scale(loss or outputs) earlier in the iteration.")
        return self._scale, self._growth_tracker  # type: ignore[return-value]

    def scale(self, outputs: Any) -> Any:
        """Multiply outputs, a tensor or an iterable of tensors, by the scale (``torch.amp.GradScaler.scale``)."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = full((), self._init_scale, dtype=float32, device=outputs.device)
                self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=outputs.device)
            return outputs * self._scale.to(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    @no_grad()
    def unscale_(self, optimizer: Any) -> None:
        """Divide the optimizer's gradients by the scale, and check them for infinite ones
        (``torch.amp.GradScaler.unscale_``). Raises RuntimeError if it was called since the last ``update``, and
        ValueError for float16 gradients, which could not hold the results.
        """
        if not self._enabled:
            return
        scale, _ = self._started("unscale_")
        state = self._states[id(optimizer)]
        if state["stage"] == OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] == OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        self._check(optimizer, scale.double().reciprocal().float(), allow_float16=False)
        state["stage"] = OptState.UNSCALED

    def _check(self, optimizer: Any, factor: Tensor, allow_float16: bool) -> None:
        """Multiply the gradients by a factor, and note whether one of them was not finite."""
        found: Tensor | None = None
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if (grad := parameter.grad) is None:
                    continue
                if grad.dtype is float16 and not allow_float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                infinite = grad.isfinite().all().logical_not().to(factor.device)
                found = infinite if found is None else found | infinite
                grad.mul_(factor.to(grad.device))
        self._states[id(optimizer)]["found_inf"] = None if found is None else found.float()

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients unless done, and call ``optimizer.step`` unless a gradient is not finite
        (``torch.amp.GradScaler.step``). Raises RuntimeError for a closure, or a second step before ``update``.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        scale, _ = self._started("step")
        state = self._states[id(optimizer)]
        if state["stage"] == OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if not getattr(optimizer, "_step_supports_amp_scaling", False):
            if state["stage"] == OptState.READY:
                self.unscale_(optimizer)
            if state["found_inf"] is None:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = None if state["found_inf"].item() else optimizer.step(*args, **kwargs)
        elif "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn("GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. "
                          "In the near future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the "
                          "passed optimizer and let the optimizer use them directly.", FutureWarning, stacklevel=2)
            result = optimizer.step(*args, **kwargs, grad_scaler=self)
        else:
            result = self._step_that_unscales(optimizer, scale, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_that_unscales(self, optimizer: Any, scale: Tensor, state: dict[str, Any], *args: Any,
                            **kwargs: Any) -> Any:
        """Call a fused step, which divides by the scale itself."""
        ready = state["stage"] == OptState.READY
        if ready:
            with no_grad():
                self._check(optimizer, full((), 1.0, device=scale.device), allow_float16=True)
        optimizer.grad_scale = (scale * getattr(optimizer, "grad_scale", 1)) if ready else None
        optimizer.found_inf = state["found_inf"]
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Grow or shrink the scale by the outcome of the steps, or set it (``torch.amp.GradScaler.update``)."""
        if not self._enabled:
            return
        scale, tracker = self._started("update")
        if new_scale is not None:
            self._set(scale, new_scale)
        else:
            found = [state["found_inf"].item() for state in self._states.values() if state["found_inf"] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(found):
                scale.mul_(self._backoff_factor)
                tracker.zero_()
            elif tracker.item() + 1 == self._growth_interval:
                grown = scale * self._growth_factor
                if grown.isfinite().item():
                    scale.copy_(grown)
                tracker.zero_()
            else:
                tracker.add_(1)
        self._states = defaultdict(_fresh_state)

    def _set(self, scale: Tensor, new_scale: float | Tensor) -> None:
        if isinstance(new_scale, Tensor):
            if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError("new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                                     "torch.FloatTensor with requires_grad=False.")
            scale.copy_(new_scale)
        else:
            scale.fill_(new_scale)

    def is_enabled(self) -> bool:
        """Return True if anything is scaled (``torch.amp.GradScaler.is_enabled``)."""
        return self._enabled

    def get_scale(self) -> float:
        """Return the scale, 1.0 if nothing is scaled (``torch.amp.GradScaler.get_scale``)."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows (``torch.amp.GradScaler.get_growth_factor``)."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows (``torch.amp.GradScaler.set_growth_factor``)."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks (``torch.amp.GradScaler.get_backoff_factor``)."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks (``torch.amp.GradScaler.set_backoff_factor``)."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of good steps after which the scale grows (``torch.amp.GradScaler``)."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps the scale grows (``torch.amp.GradScaler.set_growth_interval``)."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def state_dict(self) -> dict[str, Any]:
        """Return the scale, its settings, and the good steps since it changed (``torch.amp.GradScaler.state_dict``)."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor,
                "backoff_factor": self._backoff_factor, "growth_interval": self._growth_interval,
                "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state (``torch.amp.GradScaler``). Raises RuntimeError if it is that of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance "
                               "of GradScaler.")
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._states:
                raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or "
                                     "at the end after scaler.update().")
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state


__all__ = ["GradScaler"]
