"""The events of a lake as a DataFrame, and the layout in which the lake stores the events."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DateType, StringType, StructField, StructType

from headrace.lake.event_columns import EVENTS
from headrace.lake.event_files import LETTERS, LONGEST_NAME, NULL_FOLDER, STORED_NAMES
from headrace.lake.lake import EVENTS as EVENTS_FOLDER
from headrace.lake.lake import Lake
from headrace.lake.manifest import LakeSnapshot
from headrace.spark.tables.expressions import day_of

_PLAIN_NAME = rf"^[{LETTERS}]{{1,{LONGEST_NAME}}}\z"
_ODD_LETTERS = rf"[^{LETTERS}]"

COLUMNS: StructType = from_arrow_schema(EVENTS)
DAY = StructField("day", DateType())

STORED_COLUMNS = StructType(
    [
        *map(StructField, STORED_NAMES, (field.dataType for field in COLUMNS)),
        StructField("batch", StringType()),
        DAY,
        StructField("queue", StringType()),
    ]
)


def writing_session(spark: SparkSession) -> SparkSession:
    """Return a new session with the settings for writing. The user's session stays unchanged."""
    own = spark.newSession()
    # Parquet readers other than Spark lose the time zone of Spark's default timestamp type.
    own.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.shuffle.partitions", own.sparkContext.defaultParallelism)
    return own


def lake_events(
    spark: SparkSession,
    lake: Lake,
    snapshot: LakeSnapshot,
    days: Collection[dt.date] | None = None,
) -> DataFrame:
    """Return the events of a snapshot, or only the events of some days, with the column `day`."""
    paths = [file.path for file in snapshot.files if days is None or file.day in days]
    if not paths:
        return no_events(spark)
    # The files contain the queue name. The day is stored only in the folder name.
    stored = read_stored(spark, lake, paths).drop("batch", "queue")
    return stored.withColumnRenamed("queue_name", "queue")


def no_events(spark: SparkSession) -> DataFrame:
    """Return an empty DataFrame with the columns of events."""
    return spark.createDataFrame([], StructType([*COLUMNS, DAY]))


def read_stored(spark: SparkSession, lake: Lake, paths: Collection[str]) -> DataFrame:
    """Return the rows of lake files, with batch, day and queue folder as columns."""
    root = lake.files.root
    reader = spark.read.schema(STORED_COLUMNS).options(
        basePath=f"{root}/{EVENTS_FOLDER}",
        # The path may contain * or [. Spark would expand such a path as a glob pattern.
        __globPaths__="false",
        **{"parquet.page.verify-checksum.enabled": "true"},
    )
    return reader.parquet(*(f"{root}/{path}" for path in paths))


def with_folders(events: DataFrame) -> DataFrame:
    """Add the columns that determine the folder of each event."""
    return events.withColumns(
        {
            "queue_name": F.col("queue"),
            "queue": queue_folder(F.col("queue")),
            "day": day_of(),
        }
    )


def queue_folder(queue: Column) -> Column:
    """Return the same folder name for a queue as `headrace.lake.event_files.queue_folder`."""
    plain = queue.rlike(_PLAIN_NAME) & (queue != NULL_FOLDER)
    alike = F.regexp_replace(F.substring(queue, 1, 40), _ODD_LETTERS, "_")
    digest = F.substring(F.sha2(queue.cast("binary"), 256), 1, 16)
    return F.when(plain, queue).otherwise(F.concat(alike, F.lit("~"), digest))
