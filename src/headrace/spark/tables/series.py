"""series: waiting and running times as columns that can be merged, as the server keeps them.

A series is its count, mean, variance, histogram, sketch and quantiles. Times are seconds, but
milliseconds in a sketch.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

SERIES = ("wait", "run")

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
PARTS = ("count", "mean", "variance", "histogram", "sketch", *QUANTILES)

# A bin as a number, which costs less to count than its name: its unit in thousands.
_UNITS = "smqhd"
_BIN = """
case when {seconds} < 60 then {seconds}
     when {seconds} < 3600 then 1000 + {seconds} div 60
     when {seconds} < 86400 then 2000 + {seconds} div 900
     when {seconds} < 259200 then 3000 + {seconds} div 3600
     else 4000 + least({seconds} div 86400, 366) end
"""


def bin_number(milliseconds: str) -> Column:
    """The bin of a value that stands in this column, as a number."""
    return F.expr(_BIN.format(seconds=f"({milliseconds} div 1000)"))


def bin_name(number: Column) -> Column:
    """The documented name of a bin: s0 to s59, m1 to m59, q4 to q95, h24 to h71, d3 to d366."""
    unit = F.substring(F.lit(_UNITS), (number / 1000).cast("int") + 1, F.lit(1))
    return F.concat(unit, (number % 1000).cast("string"))


def collected(value: str) -> list[Column]:
    """The moments and the sketch of values in milliseconds."""
    return [
        F.count(value).alias("count"),
        (F.avg(value) / 1000).alias("mean"),
        (F.var_samp(value) / 1e6).alias("variance"),
        F.kll_sketch_agg_bigint(value).alias("sketch"),
    ]


def told(name: str, is_of_it: Column) -> list[Column]:
    """The parts of a series where each row was collected from one bin, which may be of it."""
    histogram = F.create_map(bin_name(F.col("bin")), F.col("count"))
    return [
        F.when(is_of_it, F.col("count")).otherwise(0).alias(f"{name}_count"),
        *(F.when(is_of_it, F.col(part)).alias(f"{name}_{part}") for part in ("mean", "variance")),
        F.when(is_of_it, histogram).alias(f"{name}_histogram"),
        F.when(is_of_it, F.col("sketch")).alias(f"{name}_sketch"),
    ]


def gathered(name: str) -> list[Column]:
    """What several rows have of a series, to be merged by `united`."""
    has_values = F.col(f"{name}_count") > 0
    moments = F.struct(*(F.col(f"{name}_{part}").alias(part) for part in PARTS[:3]))
    return [
        F.collect_list(F.when(has_values, moments)).alias(f"{name}_moments"),
        F.collect_list(F.when(has_values, F.col(f"{name}_histogram"))).alias(f"{name}_histogram"),
        F.kll_merge_agg_bigint(F.when(has_values, F.col(f"{name}_sketch"))).alias(f"{name}_sketch"),
    ]


def united(name: str) -> list[Column]:
    """What was gathered of a series, as one: moments, histogram, sketch and quantiles."""
    nothing = F.expr("cast((0, 0, 0) as struct<count: bigint, mean: double, squares: double>)")
    no_bins = F.create_map().cast("map<string, bigint>")
    has_values = F.size(f"{name}_moments") > 0
    shares = F.array(*(F.lit(share) for share in QUANTILES.values()))
    quantiles = F.kll_sketch_get_quantile_bigint(f"{name}_sketch", shares)
    return [
        F.aggregate(f"{name}_moments", nothing, _both).alias(f"{name}_moments"),
        F.when(has_values, F.aggregate(f"{name}_histogram", no_bins, _added)).alias(
            f"{name}_histogram"
        ),
        F.when(has_values, F.col(f"{name}_sketch")).alias(f"{name}_sketch"),
        F.when(has_values, quantiles).alias(f"{name}_quantiles"),
    ]


def finished(name: str) -> list[Column]:
    """A series as it stands in a table: of no values there is no mean, of one no variance."""
    moments = {part: F.col(f"{name}_moments.{part}") for part in ("count", "mean", "squares")}
    count = moments["count"]
    return [
        count.alias(f"{name}_count"),
        F.when(count > 0, moments["mean"]).alias(f"{name}_mean"),
        F.when(count > 1, moments["squares"] / (count - 1)).alias(f"{name}_variance"),
        F.col(f"{name}_histogram"),
        F.col(f"{name}_sketch"),
        *(
            (F.get(f"{name}_quantiles", F.lit(place)) / 1000).alias(f"{name}_{quantile}")
            for place, quantile in enumerate(QUANTILES)
        ),
    ]


def _both(whole: Column, part: Column) -> Column:
    """Two sets of values as one, without the values; as `statistics.merged` of the engine."""
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


def _added(bins: Column, more: Column) -> Column:
    def total(_name: Column, one: Column, other: Column) -> Column:
        return F.coalesce(one, F.lit(0)) + F.coalesce(other, F.lit(0))

    return F.map_zip_with(bins, more, total)
