from __future__ import annotations

import datetime
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sotto
from sotto.values import wire, wire_number


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        (0.1 + 0.2, "0.3"),
        (1.1 * 3, "3.3"),
        (0.1, "0.1"),
        (65, "65"),
        (65.0, "65"),
        (-0.0, "0"),
        (2**53, "9007199254740992"),
        (Decimal("0.123456789"), "0.123456789"),
        (Decimal("0.1234567894999"), "0.123456789"),
        (Fraction(1, 3), "0.333333333"),
        (np.float32(0.1), "0.1"),
        (np.float64(0.1) + np.float64(0.2), "0.3"),
        (np.int64(7), "7"),
        (1e-9, "1e-09"),
        (4e-10, "0"),
        (1e300, str(10**300)),
        (123456.7890000001, "123456.789"),
    ],
)
def test_numbers_are_rounded_to_the_nearest_decimal_of_nine_digits(value: Any, sent: str) -> None:
    assert json.dumps(wire_number(value)) == sent


def test_a_delta_keeps_eighteen_digits() -> None:
    assert sotto.count(delta=1e-12, epsilon=1).body["delta"] == 1e-12
    assert sotto.count(delta=3e-13 + 1e-19, epsilon=1).body["delta"] == 3e-13


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan"), Decimal("NaN")])
def test_numbers_that_are_not_finite_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        wire(value)


def test_a_decimal_that_no_float_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="more digits"):
        wire(Decimal("12345678901234567.123456789"))


@pytest.mark.parametrize("value", [None, pd.NA, pd.NaT])
def test_missing_values_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is_null"):
        sotto.col("Age") == value  # noqa: B015


def test_booleans_stay_booleans() -> None:
    assert wire([True, np.bool_(False)]) == [True, False]


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        (datetime.date(2024, 3, 1), "2024-03-01"),
        (datetime.datetime(2024, 3, 1), "2024-03-01"),
        (datetime.datetime(2024, 3, 1, 5, 30), "2024-03-01T05:30:00Z"),
        (
            datetime.datetime(2024, 3, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            "2024-02-29T23:00:00Z",
        ),
        (pd.Timestamp("2024-03-01T02:00", tz="Europe/Berlin"), "2024-03-01T01:00:00Z"),
        (np.datetime64("2024-03-01"), "2024-03-01"),
        (np.datetime64("2024-03-01T05:00:01"), "2024-03-01T05:00:01Z"),
        ("2024-03-01", "2024-03-01"),
    ],
)
def test_times_are_iso_8601_in_utc(value: Any, sent: str) -> None:
    assert wire(value) == sent
