"""Files for TensorBoard: ``torch.utils.tensorboard``."""
from .writer import SummaryWriter as SummaryWriter

__all__ = ["SummaryWriter"]
