"""Error bars by matplotlib, an optional package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def errorbar(labels: Sequence[str], series: Mapping[str, Sequence[Estimate]], ax: Axes | None = None) -> Axes:
    """Draw series of values with error bars, one value of each series at each label."""
    import matplotlib.pyplot as plt

    axes: Axes = plt.gca() if ax is None else ax
    for name, estimates in series.items():
        widths = [None if part.is_rank else part.half_width for part in estimates]
        drawn = [width if width is not None else 0 * part.value for width, part in zip(widths, estimates, strict=True)]
        values = [part.value for part in estimates]
        axes.errorbar(values, range(len(labels)), xerr=drawn, fmt="o", capsize=3, label=name)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlabel(", ".join(series))
    if len(series) > 1:
        axes.legend()
    return axes
