"""``torch.futures``: results that another thread sets, or that are known already."""
from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")

__all__ = ["Future", "collect_all", "wait_all"]
__dir__ = __all__.copy


class Future(Generic[T]):
    """A result that may not be there yet (``torch.futures.Future``)."""

    def __init__(self, *, devices: Sequence[Any] | None = None):
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def done(self) -> bool:
        """Return True if the result, or an error in its place, is set."""
        return self._future.done()

    def wait(self) -> T:
        """Wait for the result and return it.

        Raises:
            BaseException: the error that was set in the result's place.
        """
        return self._future.result()

    def value(self) -> T:
        """Return the result without waiting.

        Raises:
            RuntimeError: if there is none yet.
        """
        if not self.done():
            raise RuntimeError("Future::value() called before the future is completed; call wait()")
        return self.wait()

    def set_result(self, result: T) -> None:
        """Set the result, which wakes those that wait.

        Raises:
            RuntimeError: if it is set already.
        """
        self._complete(self._future.set_result, result)

    def set_exception(self, result: BaseException) -> None:
        """Set an error in the result's place: ``wait`` raises it.

        Raises:
            RuntimeError: if the result is set already.
        """
        assert isinstance(result, Exception), f"{result} is of type {type(result)}, not an Exception."
        self._complete(self._future.set_exception, result)

    def _complete(self, setter: Callable[[Any], None], value: Any) -> None:
        try:
            setter(value)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only "
                               "be marked completed once.") from None

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call a function with this future when the result is set; now, if it is."""
        self._future.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return the future of a function's result, which is called with this future when its result is set."""
        following: Future[S] = Future()

        def run(future: Future[T]) -> None:
            try:
                following.set_result(callback(future))
            except Exception as error:
                following.set_exception(RuntimeError("Got the following error when running the callback: "
                                                     f"{type(error).__name__}: {error}"))

        self.add_done_callback(run)
        return following


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of the futures themselves, which is complete when all of them are, or when one has an error."""
    collected: Future[list[Future[Any]]] = Future()
    missing = {id(future) for future in futures}

    def note(future: Future[Any]) -> None:
        missing.discard(id(future))
        if collected.done():
            return
        if (error := future._future.exception()) is not None:
            collected.set_exception(error)
        elif not missing:
            collected.set_result(list(futures))

    if not futures:
        collected.set_result([])
    for future in futures:
        future.add_done_callback(note)
    return collected


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Wait for all futures and return their results.

    Raises:
        BaseException: the first error that was set in a result's place.
    """
    return [future.wait() for future in collect_all(futures).wait()]
