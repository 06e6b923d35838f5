"""``torch.utils._sympy``: what the algebra of sizes adds to sympy."""
