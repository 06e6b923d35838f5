"""Streams and events of any kind of device: ``torch.Stream`` and ``torch.Event``."""
from __future__ import annotations

import inspect
from types import TracebackType
from typing import Any

from .._device import device as Device, no_backend, resolve_device
from .backend import backends


def _kind_of(device: Any) -> str:
    """Return the device type that an argument means: for None and an index the accelerator, or the CPU without one."""
    if device is None or isinstance(device, int):
        return next((name for name, backend in backends.items() if backend.accelerates()), "cpu")
    kind = Device(device).type
    if kind not in backends:
        raise no_backend(kind, ())
    return resolve_device(device).type


class _OfAnyDevice(type):
    """The type of ``Stream`` and ``Event``: calling one of these makes an object of the device's own class."""

    _made: Any  #: makes what a call of the generic class returns

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._made(*args, **kwargs) if cls.__base__ is object else super().__call__(*args, **kwargs)

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of the method that makes a generic object, or else of the class's own ``__init__``."""
        made = cls._made if cls.__base__ is object else getattr(cls, "__init__").__get__(object())  # noqa: B009
        return inspect.signature(made)


class Stream(metaclass=_OfAnyDevice):
    """A queue of work on a device, which runs in order (``torch.Stream``).

    Calling the class makes a stream of the device's own kind, such as ``torch.npu.Stream``. Devices without streams
    have this one, in which operators run as they are called.

    Args:
        device: a device, its name or index; None for the current accelerator, or without one for the CPU.
        priority: which of a device's streams go first, where that can be chosen.
    """

    @classmethod
    def _made(cls, device: Any = None, priority: int = 0) -> Any:
        kind = _kind_of(device)
        own = backends[kind].stream_type()
        if own is not None:
            return own(device, priority)
        made = object.__new__(cls)
        made._kind = kind
        return made

    _kind: str

    @property
    def stream_id(self) -> int:
        """The stream's number on its device (``torch.Stream.stream_id``)."""
        return 0

    @property
    def device_index(self) -> int:
        """The index of the device, -1 where there is one only (``torch.Stream.device_index``)."""
        return -1

    @property
    def device(self) -> Device:
        """The device that runs the stream (``torch.Stream.device``)."""
        return Device(self._kind)

    def query(self) -> bool:
        """Return True if all that was put into the stream has run, without waiting (``torch.Stream.query``)."""
        return True

    def synchronize(self) -> None:
        """Wait until all that was put into the stream has run (``torch.Stream.synchronize``)."""

    def record_event(self, event: Any = None) -> Any:
        """Record an event, maybe a new one (``torch.Stream.record_event``); RuntimeError without events."""
        raise _no_events(self._kind)

    def wait_event(self, event: Any) -> None:
        """Make the stream's later work wait for an event (``torch.Stream.wait_event``)."""

    def wait_stream(self, stream: Any) -> None:
        """Wait for another stream's work (``torch.Stream.wait_stream``); RuntimeError without events."""
        raise _no_events(self._kind)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) is Stream and other._kind == self._kind

    def __hash__(self) -> int:
        return hash(self._kind)

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self._kind}, device_index={self.device_index}, stream_id={self.stream_id}"


class Event(metaclass=_OfAnyDevice):
    """A mark in a stream that other streams and the host can wait for (``torch.Event``).

    Calling the class makes an event of the device's own kind, such as ``torch.npu.Event``. Devices without streams have
    this one, which is never recorded.

    Args:
        device: a device, its name or index; None for the current accelerator, or without one for the CPU.
        enable_timing: whether :meth:`elapsed_time` will be asked for.
    """

    @classmethod
    def _made(cls, device: Any = None, *, enable_timing: bool = False, blocking: bool = False,
              interprocess: bool = False) -> Any:
        kind = _kind_of(device)
        own = backends[kind].event_type()
        if own is not None:  # which takes no device: it is that of the stream in which the event is recorded
            return own(enable_timing, blocking, interprocess)
        made = object.__new__(cls)
        made._kind, made.enable_timing = kind, enable_timing
        return made

    _kind: str
    enable_timing = False
    event_id = 0  #: the event's handle (``torch.Event.event_id``)

    @property
    def device(self) -> Any:
        """The device of the stream in which the event is recorded (``torch.Event.device``)."""
        return Device(self._kind)

    def record(self, stream: Any = None) -> None:
        """Mark a stream's, or the current one's, work (``torch.Event.record``); RuntimeError without events."""
        raise _no_events(self._kind)

    def wait(self, stream: Any = None) -> None:
        """Make a stream's later work, by default the current one's, wait for the event (``torch.Event.wait``)."""

    def query(self) -> bool:
        """Return True if the event has been passed, without waiting (``torch.Event.query``)."""
        return True

    def synchronize(self) -> None:
        """Wait until the event is passed (``torch.Event.synchronize``)."""

    def elapsed_time(self, end_event: Any) -> float:
        """Return the milliseconds to another event (``torch.Event.elapsed_time``); ValueError if untimed."""
        if not self.enable_timing or not end_event.enable_timing:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        raise ValueError("Both events must be recorded before calculating elapsed time.")

    def __repr__(self) -> str:
        return (f"torch.Event device_type={self._kind}, device_index=-1, event_flag={int(self.enable_timing)}, "
                f"event_id={self.event_id}")


def _no_events(kind: str) -> RuntimeError:
    return RuntimeError(f"{kind} backend doesn't support events.")
