-- expire_unstarted_job: expire_job, created at its first call.
--
-- uses   expire_job

return expire_job
