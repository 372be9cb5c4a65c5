"""The lake: the history of jobs as Parquet files, and manifests that list the valid files.

`lake.Lake` and `files.LocalFiles` are public. The other modules are internal: their API may change
without notice.
"""
