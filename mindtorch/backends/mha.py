"""``torch.backends.mha``: the fast path of attention modules in evaluation, of which there is none."""
_fastpath = True


def get_fastpath_enabled() -> bool:
    """Return True if the fast path may be taken (``torch.backends.mha.get_fastpath_enabled``)."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Set whether the fast path may be taken (``torch.backends.mha.set_fastpath_enabled``)."""
    global _fastpath
    _fastpath = value
