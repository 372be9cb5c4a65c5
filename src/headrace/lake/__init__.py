"""The lake: the history of jobs as Parquet files, and manifests that list the valid files."""
