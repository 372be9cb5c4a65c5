-- get: return jobs by id. Unknown ids are omitted.
--
-- each   id
-- flags  no-writes
-- uses   job_records describe_jobs
-- reply  described job, ...

return describe_jobs(ids_of(each), {})
