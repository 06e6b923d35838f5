"""``torch.optim.lr_scheduler``: how the learning rate changes from step to step of the training."""
from .annealing import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING, LRScheduler
from .combined import ChainedScheduler, SequentialLR
from .cycles import CyclicLR, OneCycleLR
from .factors import ConstantLR, ExponentialLR, LambdaLR, LinearLR, MultiplicativeLR, MultiStepLR, PolynomialLR, StepLR
from .plateau import ReduceLROnPlateau

_LRScheduler = LRScheduler  #: its name in older programs
__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]
__dir__ = __all__.copy
