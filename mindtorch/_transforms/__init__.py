"""Functions of functions: derivatives of either mode, and batching; ``torch.func`` shows them."""
