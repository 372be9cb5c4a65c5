"""`lake`: the history of jobs as Parquet files. One command a module."""
