"""Columns with statistics of waiting and running times.

The statistics of several rows, for example of several days, can be merged into one row.

There are two series of durations: waiting times and running times. As on the server, each series
has a count, mean, variance, histogram, sketch and quantiles. Sketches have durations in
milliseconds, and all other columns have durations in seconds.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.engine.statistics import BIN_UNITS, BINS

SERIES = ("wait", "run")

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_SUMMARIES = ("mean", "variance", "sketch")
PARTS = ("count", "mean", "variance", "histogram", "sketch", *QUANTILES)

# Each bin of a histogram has a number, because grouping by numbers is cheaper than grouping by
# names. The thousands digit of the number is the position of the bin's unit in BIN_UNITS.
_UNITS = "".join(BIN_UNITS)
_CASES = " ".join(
    f"when {{seconds}} < {length * numbers.stop} then {1000 * at} + {{seconds}} div {length}"
    for at, (length, numbers) in enumerate(BIN_UNITS.values())
)
_LAST = 1000 * _UNITS.index(BINS[-1][0]) + int(BINS[-1][1:])


def bin_number(milliseconds: str) -> Column:
    """Return the number of the bin for each value in a column."""
    cases = _CASES.format(seconds=f"({milliseconds} div 1000)")
    return F.expr(f"case {cases} else {_LAST} end")


def bin_name(number: Column) -> Column:
    """Return the name of a bin: its unit and number.

    Units are seconds (s0 to s59), minutes (m1 to m59), quarter hours (q4 to q95), hours (h24 to
    h71) and days (d3 to d366).
    """
    unit = F.substring(F.lit(_UNITS), (number / 1000).cast("int") + 1, F.lit(1))
    return F.concat(unit, (number % 1000).cast("string"))


def summarize(value: str) -> list[Column]:
    """Return count, mean, variance and sketch of values in milliseconds."""
    return [
        F.count(value).alias("count"),
        (F.avg(value) / 1000).alias("mean"),
        (F.var_samp(value) / 1e6).alias("variance"),
        F.kll_sketch_agg_bigint(value).alias("sketch"),
    ]


def series_part(name: str, belongs: Column) -> list[Column]:
    """Return the columns of a series for a row that summarizes one histogram bin.

    If the row does not belong to the series, the count is 0 and the other columns are null.
    """
    histogram = F.create_map(bin_name(F.col("bin")), F.col("count"))
    return [
        F.when(belongs, F.col("count")).otherwise(0).alias(f"{name}_count"),
        F.when(belongs, histogram).alias(f"{name}_histogram"),
        *(F.when(belongs, F.col(part)).alias(f"{name}_{part}") for part in _SUMMARIES),
    ]


def collect_parts(name: str) -> list[Column]:
    """Collect the statistics of a series from several rows, as input for `merge_parts`."""
    has_values = F.col(f"{name}_count") > 0
    moments = F.struct(*(F.col(f"{name}_{part}").alias(part) for part in PARTS[:3]))
    return [
        F.collect_list(F.when(has_values, moments)).alias(f"{name}_moments"),
        F.collect_list(F.when(has_values, F.col(f"{name}_histogram"))).alias(f"{name}_histogram"),
        F.kll_merge_agg_bigint(F.when(has_values, F.col(f"{name}_sketch"))).alias(f"{name}_sketch"),
    ]


def merge_parts(name: str) -> list[Column]:
    """Merge the statistics that `collect_parts` collected, and compute the quantiles."""
    nothing = F.expr("cast((0, 0, 0) as struct<count: bigint, mean: double, squares: double>)")
    no_bins = F.create_map().cast("map<string, bigint>")
    has_values = F.size(f"{name}_moments") > 0
    shares = F.array(*(F.lit(share) for share in QUANTILES.values()))
    quantiles = F.kll_sketch_get_quantile_bigint(f"{name}_sketch", shares)
    return [
        F.aggregate(f"{name}_moments", nothing, _merge_moments).alias(f"{name}_moments"),
        F.when(has_values, F.aggregate(f"{name}_histogram", no_bins, _merge_bins)).alias(
            f"{name}_histogram"
        ),
        F.when(has_values, F.col(f"{name}_sketch")).alias(f"{name}_sketch"),
        F.when(has_values, quantiles).alias(f"{name}_quantiles"),
    ]


def finish_series(name: str) -> list[Column]:
    """Return the final columns of a series, after `merge_parts`.

    The mean is null if there are no values, and the variance is null if there are fewer than two.
    """
    moments = {part: F.col(f"{name}_moments.{part}") for part in ("count", "mean", "squares")}
    count = moments["count"]
    return [
        count.alias(f"{name}_count"),
        F.when(count > 0, moments["mean"]).alias(f"{name}_mean"),
        F.when(count > 1, moments["squares"] / (count - 1)).alias(f"{name}_variance"),
        F.col(f"{name}_histogram"),
        F.col(f"{name}_sketch"),
        *(
            (F.get(f"{name}_quantiles", F.lit(position)) / 1000).alias(f"{name}_{quantile}")
            for position, quantile in enumerate(QUANTILES)
        ),
    ]


def _merge_moments(whole: Column, part: Column) -> Column:
    """Merge count, mean and variance of two sets of values, as `engine.statistics.merged` does."""
    count = whole["count"] + part["count"]
    apart = part["mean"] - whole["mean"]
    squares = F.coalesce(part["variance"] * (part["count"] - 1), F.lit(0.0))
    return F.struct(
        count.alias("count"),
        (whole["mean"] + apart * part["count"] / count).alias("mean"),
        (whole["squares"] + squares + apart * apart * whole["count"] * part["count"] / count).alias(
            "squares"
        ),
    )


def _merge_bins(bins: Column, more: Column) -> Column:
    def total(_name: Column, one: Column, other: Column) -> Column:
        return F.coalesce(one, F.lit(0)) + F.coalesce(other, F.lit(0))

    return F.map_zip_with(bins, more, total)
