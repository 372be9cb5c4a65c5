"""format("headrace"): which reader or writer Spark gets. Everything here runs on the driver."""

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
from headrace.lake.schema import EVENTS
from headrace.spark.options import EventsBatch, EventsStream


class HeadraceSource(DataSource):
    """Events and jobs of a namespace as tables, and jobs made of rows."""

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> StructType:
        return from_arrow_schema(EVENTS)

    def reader(self, schema: StructType) -> DataSourceReader:
        from headrace.spark.events import EventsReader  # noqa: PLC0415 - writers do without

        self._check(schema)
        return EventsReader(EventsBatch.read(self.options).settled())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from headrace.spark.events import EventsStreamReader  # noqa: PLC0415 - writers do without

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
