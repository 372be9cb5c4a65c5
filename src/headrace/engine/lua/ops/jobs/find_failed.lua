-- find_failed: find matching jobs in a list of failed jobs, oldest first, a bounded number per call. If `role` is
-- `failures`, the list contains the jobs of a failure type. If `role` is `failed`, it contains the failed jobs of
-- a queue. Jobs that failed after `until_` are omitted. If `until_` is in the future, the first call replaces
-- `until_` with the current time. The cursor is part of the reply to the previous call.
--
-- args   role name failure:optional queue:optional tag:optional since:number until_:number at_most:int cursor:packed
-- flags  no-writes
-- uses   keys now job_records scan_set set_members tags
-- reply  {cursor of the next step or '', until_, id, time of the failure, ...}

local function matches(job)
  return job and job.state == 'failed'
    and (not failure or extra(job, 'failure')[1] == failure)
    and (not queue or job.queue == queue)
    and (not tag or is_among(extra(job, 'tags'), tag))
end

local last = math.min(until_, now)
local found, after = scan_set(key(role, name), at_most, cursor or { since, '' })
local ids = ids_in(found)
if failure or queue or tag then
  read_jobs(ids)
end
local reply = { after and cmsgpack.pack(after) or '', last }
for i, id in ipairs(ids) do
  local at = found[2 * i]
  if tonumber(at) > last then
    reply[1] = ''
    break
  end
  if not (failure or queue or tag) or matches(read_job(id)) then
    reply[#reply + 1] = id
    reply[#reply + 1] = at
  end
end
return reply
