-- tracked: a page of the tracked jobs, and which of the ids have none any more: the job that was tracked
-- is gone, although there may be another of that id.
--
-- args   offset:int count:int
-- uses   keys job_records describe_jobs
-- reply  {how many were looked at, {id of one that is gone, ...}, described job, ...}

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
local reply = describe_jobs(there)
table.insert(reply, 1, missing)
table.insert(reply, 1, #ids)
return reply
