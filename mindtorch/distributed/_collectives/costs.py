"""What an all-reduce costs on a network: the usual model, in which a message of ``n`` bytes takes ``latency + n /
bandwidth``, and a rank sends one message at a time while it receives one.

Times are in seconds. Ranks wait for no one but their neighbours, and adding up costs nothing.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Network(NamedTuple):
    """The seconds that a message takes even if it is empty, and the bytes a second between two ranks."""

    latency: float
    bandwidth: float


def ring(nbytes: float, ranks: int, network: Network) -> float:
    """Return the seconds of an all-reduce round a ring: ``ranks - 1`` steps that add up and as many that distribute,
    each with a message of ``nbytes / ranks``. It uses the bandwidth as well as possible, and pays the latency for every
    rank.
    """
    return 2 * (ranks - 1) * (network.latency + nbytes / ranks / network.bandwidth)


def tree(nbytes: float, ranks: int, network: Network) -> float:
    """Return the seconds of an all-reduce along a binary tree: up to the root and down again, each in ``log2(ranks)``
    steps, rounded up, with a message of ``nbytes``.
    """
    return 2 * (ranks - 1).bit_length() * (network.latency + nbytes / network.bandwidth)


def efficiency(compute: float, nbytes: float, ranks: int, network: Network,
               all_reduce: Callable[[float, int, Network], float] = ring, overlap: float = 0.0) -> float:
    """Return the share of a training step that is not spent waiting, if every rank has as much to compute as a single
    process has (weak scaling): 1 is perfect.

    Args:
        compute: seconds of a step in one process.
        nbytes: bytes of gradients.
        all_reduce: ``ring`` or ``tree``.
        overlap: the part of ``compute``, from 0 to 1, during which gradients are on their way already.
    """
    waited = max(0.0, all_reduce(nbytes, ranks, network) - overlap * compute)
    return compute / (compute + waited)
