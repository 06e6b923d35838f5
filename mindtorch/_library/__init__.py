"""Parts of ``torch.library`` that PyTorch keeps in ``torch._library``."""
