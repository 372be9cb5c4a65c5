"""The lake: the history of jobs as Parquet files, and manifests that say which files count."""
