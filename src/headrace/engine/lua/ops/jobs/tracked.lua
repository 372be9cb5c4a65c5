-- tracked: return a page of the tracked jobs, and the ids of tracked jobs that no longer exist. A tracked
-- job counts as deleted if a new job has its id.
--
-- args   offset:int count:int
-- flags  no-writes
-- uses   keys job_records describe_jobs
-- reply  {ids read, {id whose job is gone, ...}, described job, ...}

local ids = redis.call('ZRANGE', TRACKED, offset, offset + count - 1)
local there, missing = {}, {}
read_jobs(ids)
for _, id in ipairs(ids) do
  local job = read_job(id)
  if job and extra(job, 'tracked') then
    there[#there + 1] = id
  else
    missing[#missing + 1] = id
  end
end
return describe_jobs(there, { #ids, missing })
