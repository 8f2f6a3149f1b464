"""Error bars by matplotlib, an optional package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .notebook import _label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .answers import Answer


def errorbar(answer: Answer, ax: Axes | None = None, statistic: str | None = None) -> Axes:
    """Draw the values of an answer with error bars. A table with several statistics gives each its own series.

    Raises:
        KeyError: if a table has no statistic with this name.
        TypeError: for an answer without error bars, and for a statistic of an answer that is no table.

    """
    import matplotlib.pyplot as plt

    from .answers import Regression, Table, Value

    if statistic is not None and not isinstance(answer, Table):
        raise TypeError(f"an answer of kind {answer.kind} has one statistic")
    axes: Axes = plt.gca() if ax is None else ax
    series: dict[str, list[Any]]
    if isinstance(answer, Table):
        labels = [" / ".join(_label(label) for label in row.key.values()) for row in answer.rows]
        names = answer.statistics if statistic is None else [statistic]
        series = {name: [row.values[name] for row in answer.rows] for name in names}
    elif isinstance(answer, Value):
        labels, series = [""], {answer.kind: [answer.estimate]}
    elif isinstance(answer, Regression):
        labels, series = list(answer.coefficients), {"coefficient": list(answer.coefficients.values())}
    else:
        raise TypeError(f"an answer of kind {answer.kind} has no values with error bars")
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
