-- expire_unstarted_job: a job that comes up too late to be started is over.
--
-- uses   expire_job

return expire_job
