-- describe_jobs: return jobs as clients read them: the packed record, and what has keys of its own. The
-- time is when the lease ends (running) or when the job is due (scheduled).
--
-- uses   keys job_records set_members sorted_sets dependency_policies job_packing

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
  if not job then
    return false
  end
  local moment = redis.call('ZSCORE', key(job.state, job.queue), job_member(job))
  return {
    id, packed_job(job), job.data == false and payload(job) or '', moment or '',
    redis.call('HMGET', key('notes', id), 'progress', 'note', 'error'),
    redis.call('LRANGE', key('log', id), 0, -1),
    redis.call('EXISTS', key('result', id)), shown_links(job),
  }
end

local function describe_jobs(ids)
  flush_zsets()
  read_jobs(ids)
  local found = {}
  for _, id in ipairs(ids) do
    local described = describe_job(id)
    if described then
      found[#found + 1] = described
    end
  end
  return found
end
