-- result: return the result and the data of a job.
--
-- args   id
-- flags  no-writes
-- uses   results
-- reply  {state or '', 1 if the job has a result else 0, result, data}

return stored_result(id)
