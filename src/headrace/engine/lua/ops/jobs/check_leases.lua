-- check_leases: check which leases are still held.
--
-- each   id token
-- uses   job_records
-- reply  for each, held, lost (another holder or state) or cancelled (the job is gone)

local ids = {}
for id in each() do
  ids[#ids + 1] = id
end
read_jobs(ids)
local answers = {}
for id, token in each() do
  local job = loaded_jobs[id]
  if not job then
    answers[#answers + 1] = 'cancelled'
  elseif job.state == 'running' and job.token == token then
    answers[#answers + 1] = 'held'
  else
    answers[#answers + 1] = 'lost'
  end
end
return answers
