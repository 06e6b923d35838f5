"""The compiler behind ``torch.compile``: what the backend ``inductor`` makes of a graph that ``_dynamo`` captured.

==================  ==========================================================================  ===================
file                idea                                                                        in PyTorch
==================  ==========================================================================  ===================
``compiled_graph``  a captured graph's programs, and their node in autograd's graph             Inductor, AOTAutograd
``joint``           the graphs of forward and backward pass, from AOTAutograd                   Inductor's backend
``lowering``        their nodes as steps between values                                         Inductor's lowering
``passes``          common subexpressions, constants, dead code                                 Inductor
``fusion``          the steps that become one kernel                                            Inductor's scheduler
``program``         the Python that runs, and the memory of its arrays                          Inductor's code
``outputs``         the results of a call, and the views in them                                AOTAutograd
==================  ==========================================================================  ===================
"""
