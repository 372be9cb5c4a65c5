-- tracked: return a page of the tracked jobs, and the ids whose tracked job is gone, even if a new job has
-- that id.
--
-- args   offset:int count:int
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
local reply = describe_jobs(there)
table.insert(reply, 1, missing)
table.insert(reply, 1, #ids)
return reply
