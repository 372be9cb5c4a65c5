"""format("headrace"): which reader or writer Spark gets. Everything here runs on the driver."""

from __future__ import annotations

import pyarrow as pa
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
from headrace.lake.schema import EVENTS
from headrace.spark.options import TABLES, EventsBatch, EventsStream, Jobs, Table


class HeadraceSource(DataSource):
    """Events and jobs of a namespace as tables, and jobs made of rows."""

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> StructType:
        return from_arrow_schema(_columns(self._table()))

    def _table(self) -> str:
        return Table.read({"table": self.options.get("table", TABLES[0])}).table

    def reader(self, schema: StructType) -> DataSourceReader:
        self._check(schema)
        if self._table() == "jobs":
            return _jobs_reader(Jobs.read(self.options).settled())
        return _events_reader(EventsBatch.read(self.options).settled())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from headrace.spark.events import EventsStreamReader  # noqa: PLC0415 - only what is used

        if self._table() == "jobs":
            raise InvalidArgument(
                "the table of jobs is what is there now and cannot be a stream; "
                "what happens to jobs is the table of events"
            )
        self._check(schema)
        return EventsStreamReader(EventsStream.read(self.options).settled())

    def _check(self, schema: StructType) -> None:
        if schema != self.schema():
            raise InvalidArgument(
                "the columns are given: read without schema(), and select those you want"
            )

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
        from headrace.spark.sink import batch_writer  # noqa: PLC0415 - readers do without

        return batch_writer(self.options, schema, overwrite)

    def streamWriter(  # noqa: N802
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001
    ) -> DataSourceStreamWriter:
        from headrace.spark.sink import stream_writer  # noqa: PLC0415 - readers do without

        return stream_writer(self.options, schema, overwrite)


def _events_reader(options: EventsBatch) -> DataSourceReader:
    from headrace.spark import events  # noqa: PLC0415 - only what is used

    # Spark keeps what was planned for one query of a DataFrame, filters included, and gives it to
    # the next that has no filters to push: it must not push any unless somebody asked for it.
    reader = events.FilteredEventsReader if options.push_filters else events.EventsReader
    return reader(options)


def _jobs_reader(options: Jobs) -> DataSourceReader:
    from headrace.spark import jobs  # noqa: PLC0415 - only what is used

    reader = jobs.FilteredJobsReader if options.push_filters else jobs.JobsReader
    return reader(options)


def _columns(table: str) -> pa.Schema:
    if table == "events":
        return EVENTS
    from headrace.spark.job_columns import JOBS  # noqa: PLC0415 - only what is used

    return JOBS
