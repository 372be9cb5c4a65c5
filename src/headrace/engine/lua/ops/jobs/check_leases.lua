-- check_leases: return which leases are still held.
--
-- each   id token
-- flags  no-writes
-- uses   job_records
-- reply  for each lease: held, lost (the job has another holder or state) or cancelled (the job is gone)

read_jobs(ids_of(each))
local answers = {}
for id, token in each() do
  local job = loaded_jobs[id]
  answers[#answers + 1] = not job and 'cancelled'
    or job.state == 'running' and job.token == token and 'held' or 'lost'
end
return answers
