-- audit_tag: check a page of the jobs that are listed under a tag, and the count of the tag.
--
-- args   tag offset:int count:int
-- flags  no-writes
-- uses   keys job_records tags
-- reply  {jobs checked, count of the tag, jobs listed, {id, problem}, ...}

local where = key('tag', tag)
local ids = redis.call('ZRANGE', where, offset, offset + count - 1)
local reply = { #ids, tonumber(redis.call('ZSCORE', TAGS, tag) or 0), redis.call('ZCARD', where) }
read_jobs(ids)
for _, id in ipairs(ids) do
  local job = read_job(id)
  if not job then
    reply[#reply + 1] = { id, 'is listed under tag ' .. tag .. ' but has no record' }
  elseif not is_among(extra(job, 'tags'), tag) then
    reply[#reply + 1] = { id, 'is listed under tag ' .. tag .. ' but does not have it' }
  end
end
return reply
