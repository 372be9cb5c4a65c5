"""The Spark data source format("headrace"). This module runs on the driver."""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from headrace.errors import InvalidArgument
from headrace.lake.event_columns import EVENTS
from headrace.spark.events import EventsReader, EventsStreamReader
from headrace.spark.jobs import JOBS, JobsReader
from headrace.spark.options import (
    TABLES,
    EventsBatchOptions,
    EventsStreamOptions,
    JobsOptions,
    TableOptions,
)
from headrace.spark.sink import batch_writer, stream_writer


class HeadraceSource(DataSource):
    """Reads events and jobs of a namespace as tables, and writes rows as jobs."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "headrace"

    def schema(self) -> StructType:
        """Return the columns of the table that the options name."""
        return from_arrow_schema(JOBS if self._table() == "jobs" else EVENTS)

    def _table(self) -> str:
        return TableOptions.read({"table": self.options.get("table", TABLES[0])}).table

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader for spark.read. Raises InvalidArgument for a wrong option."""
        self._check(schema)
        if self._table() == "jobs":
            return JobsReader(JobsOptions.read(self.options).settled())
        return EventsReader(EventsBatchOptions.read(self.options).settled())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return the reader for spark.readStream. Raises InvalidArgument for a wrong option."""
        if self._table() == "jobs":
            raise InvalidArgument(
                "the table jobs has only the current jobs and cannot be read as a stream; "
                "read the table events to follow the changes of jobs"
            )
        self._check(schema)
        return EventsStreamReader(EventsStreamOptions.read(self.options).settled())

    def _check(self, schema: StructType) -> None:
        if schema != self.schema():
            raise InvalidArgument(
                "the columns are fixed: read without schema(), then select the columns you want"
            )

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
        """Return the writer for df.write. Raises InvalidArgument for a wrong option or column."""
        return batch_writer(self.options, schema, overwrite)

    def streamWriter(  # noqa: N802
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001
    ) -> DataSourceStreamWriter:
        """Return the writer for df.writeStream. Raises InvalidArgument as `writer` does."""
        return stream_writer(self.options, schema, overwrite)
