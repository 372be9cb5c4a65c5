-- describe_jobs: return jobs in the form that clients decode: the packed record of a job, and the values of
-- the job that are stored under other keys. The time in the reply is the end of a running job's lease, or
-- the due time of a scheduled job.
--
-- uses   keys job_records set_members sorted_sets endless_leases dependency_policies job_packing kept_jobs

local LINKS_SHOWN = 1000

local function shown_links(job)
  local depends, dependents = {}, {}
  if job.state == 'blocked' then
    depends = redis.call('ZRANGE', key('depends', job.id), 0, LINKS_SHOWN - 1)
  end
  for _, policy in ipairs(extra(job, 'awaited') and POLICIES or {}) do
    for _, id in ipairs(redis.call('ZRANGE', dependents_key(policy, job.id), 0, LINKS_SHOWN - 1)) do
      dependents[#dependents + 1] = id
    end
  end
  return { depends, dependents }
end

local function describe_job(id)
  local job = read_job(id)
  if not job or is_past_retention(job) then
    return false
  end
  local moment = redis.call('ZSCORE', key(job.state, job.queue), job_member(job))
  if moment and job.state == 'running' and end_of_lease(moment) == math.huge then
    moment = 'inf'
  end
  return {
    id, packed_job(job), job.data == false and payload(job) or '', moment or '',
    redis.call('HMGET', key('notes', id), 'progress', 'note', 'error'),
    redis.call('LRANGE', key('log', id), 0, -1),
    has_result(id) and 1 or 0, shown_links(job),
  }
end

-- Append the described jobs to a reply and return the reply. An id that no job has is omitted.
local function describe_jobs(ids, reply)
  flush_zsets()
  read_jobs(ids)
  for _, id in ipairs(ids) do
    reply[#reply + 1] = describe_job(id) or nil
  end
  return reply
end
