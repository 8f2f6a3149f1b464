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
        known = [(place, part) for place, part in enumerate(estimates) if part.error_bar is not None]
        others = [(place, part) for place, part in enumerate(estimates) if part.error_bar is None]
        values, widths = [part.value for _, part in known], [part.error_bar for _, part in known]
        bars = axes.errorbar(values, [place for place, _ in known], xerr=widths, fmt="o", capsize=3, label=name)
        rings = [part.value for _, part in others], [place for place, _ in others]
        axes.plot(*rings, "o", fillstyle="none", color=bars.lines[0].get_color())
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlabel(", ".join(series))
    if len(series) > 1:
        axes.legend()
    return axes
