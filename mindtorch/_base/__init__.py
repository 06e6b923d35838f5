"""The ground floor: errors, layouts, sizes, locks, interrupts, compiled loops; it imports nothing of the other rooms.

Dtypes (``mindtorch._dtype``) and devices (``mindtorch._device``) belong to it.
"""
