"""Networks of the tests, in a module of their own so that they can be pickled."""

from __future__ import annotations

from torch import nn


class Small(nn.Module):
    """Five features, a score."""

    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)
