"""CSV files that a spreadsheet can open without running formulas from the data of jobs."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StringType, StructField

# A spreadsheet runs a cell that begins with one of these characters, even in quotes. Some
# spreadsheets ignore spaces before the character, or accept its full-width form.
_FORMULA = r"\A(\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|[\t\r\n])"
_NUMBER = r"\A[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\z"

# By default, Spark writes a quotation mark in a cell as \", and a spreadsheet ends the cell at this
# mark. Every cell is in quotes, because some spreadsheets also split cells at semicolons and tabs.
CSV_OPTIONS = {
    "header": "true",
    "quoteAll": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}


def without_formulas(rows: DataFrame) -> DataFrame:
    """Put an apostrophe before each text that a spreadsheet could run as a formula.

    Numbers stay unchanged, also numbers in columns of text.
    """
    numbered = rows.toDF(*(str(at) for at in range(len(rows.columns))))
    return numbered.select(*(_cell(str(at), field) for at, field in enumerate(rows.schema.fields)))


def _cell(column: str, field: StructField) -> Column:
    value = F.col(column)
    if isinstance(field.dataType, StringType):
        runs = value.rlike(_FORMULA) & ~value.rlike(_NUMBER)
        value = F.when(runs, F.concat(F.lit("'"), value)).otherwise(value)
    return value.alias(field.name)
