"""A driver program that writes a stream of files into a queue. Tests run and kill the program.

Some tasks fail at their first attempt and are retried. Spark runs slow tasks twice.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import functions as fn

from headrace.spark import session


def main(url: str, namespace: str, home: Path) -> None:
    spark = session(
        "local[2,4]",
        spark_driver_memory="512m",
        spark_local_dir=str(home / "spark"),
        spark_sql_warehouse_dir=str(home / "warehouse"),
        spark_sql_shuffle_partitions="2",
        spark_speculation="true",
        spark_speculation_quantile="0.1",
        spark_speculation_multiplier="1.1",
    )

    @fn.udf("int")
    def verified(number: int) -> int:
        task = TaskContext.get()
        if task is not None and task.attemptNumber() == 0 and number % 200 == 7:
            raise ValueError("this attempt fails")
        return number

    frame = spark.readStream.schema("n int").option("maxFilesPerTrigger", 1).json(str(home / "in"))
    query = (
        frame.repartition(2)
        .select(verified("n").alias("data.n"))
        .writeStream.format("headrace")
        .options(url=url, namespace=namespace, queue="mail")
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    (home / "done").touch()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
