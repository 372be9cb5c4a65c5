"""Events as they lie in the files of a lake, and back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DateType, StringType, StructField, StructType

from headrace.lake import schema
from headrace.lake.lake import EVENTS, Lake
from headrace.lake.manifest import Snapshot
from headrace.lake.writing import LETTERS, LONGEST_NAME, NULL_FOLDER
from headrace.spark.tables.words import day_of

_PLAIN_NAME = rf"^[{LETTERS}]{{1,{LONGEST_NAME}}}\z"
_ODD_LETTERS = rf"[^{LETTERS}]"

COLUMNS: StructType = from_arrow_schema(schema.EVENTS)
DAY = StructField("day", DateType())

# The name of a queue may be anything, the name of a folder may not: the first stands in the file.
STORED = StructType(
    [
        *(
            StructField("queue_name", field.dataType) if field.name == "queue" else field
            for field in COLUMNS
        ),
        StructField("batch", StringType()),
        DAY,
        StructField("queue", StringType()),
    ]
)

_SETTINGS = {
    # The default is an old type that others read without its zone.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
}


def own_session(spark: SparkSession) -> SparkSession:
    """A session to write with, beside the user's, whose settings are left as they are."""
    own = spark.newSession()
    for name, value in _SETTINGS.items():
        own.conf.set(name, value)
    own.conf.set("spark.sql.shuffle.partitions", own.sparkContext.defaultParallelism)
    return own


def lake_events(
    spark: SparkSession,
    lake: Lake,
    snapshot: Snapshot,
    days: Collection[dt.date] | None = None,
) -> DataFrame:
    """The events of a snapshot, or of some of its days: the columns of events, and the day."""
    paths = [file.path for file in snapshot.files if days is None or file.day in days]
    if not paths:
        return no_events(spark)
    # The day is all that is told by the folders only.
    stored = read_stored(spark, lake, paths).drop("batch", "queue")
    return stored.withColumnRenamed("queue_name", "queue")


def no_events(spark: SparkSession) -> DataFrame:
    """Events of which there are none."""
    return spark.createDataFrame([], StructType([*COLUMNS, DAY]))


def read_stored(spark: SparkSession, lake: Lake, paths: Collection[str]) -> DataFrame:
    """What stands in some files of a lake, with the folders in which they are."""
    root = lake.files.root
    reader = spark.read.schema(STORED).options(
        basePath=f"{root}/{EVENTS}",
        # The names of a lake's folders may have stars and brackets in them.
        __globPaths__="false",
    )
    return reader.parquet(*(f"{root}/{path}" for path in paths))


def as_stored(events: DataFrame) -> DataFrame:
    """Events with what tells in which folder each of them goes."""
    return events.withColumns(
        {
            "queue_name": F.col("queue"),
            "queue": queue_folder(F.col("queue")),
            "day": day_of(),
        }
    )


def queue_folder(queue: Column) -> Column:
    """What `queue_folder` of the lake says, as a column."""
    plain = queue.rlike(_PLAIN_NAME) & (queue != NULL_FOLDER)
    alike = F.regexp_replace(F.substring(queue, 1, 40), _ODD_LETTERS, "_")
    digest = F.substring(F.sha2(queue.cast("binary"), 256), 1, 16)
    return F.when(plain, queue).otherwise(F.concat(alike, F.lit("~"), digest))
