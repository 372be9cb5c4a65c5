"""`lake`: the history of jobs as Parquet files."""
