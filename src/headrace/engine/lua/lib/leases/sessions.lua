-- sessions: check and end the sessions of workers. Ending a session returns the jobs of the worker to the
-- front of their queues, a bounded number per call. While the worker still holds jobs, the worker stays
-- listed as dead, and the next call returns more jobs.
--
-- uses   keys now settings job_records sorted_sets set_members outages

-- Return whether the session of a worker is alive and has this token. A session that expired while the
-- server was away is alive until its grace is over.
local function is_live_session(worker, token)
  local ends = tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0)
  return redis.call('HGET', key('session', worker), 'token') == token
    and (ends > now or grace_of(worker, ends) ~= nil)
end

local AT_MOST = 256

-- Return a bounded number of the jobs that a worker holds, and whether the worker holds no other jobs.
local function jobs_held_by(worker, from, to)
  local held_by = key('held', worker)
  local entries = redis.call('ZRANGE', held_by, from, to, 'BYLEX', 'LIMIT', 0, AT_MOST)
  local ids, jobs = {}, {}
  for i, entry in ipairs(entries) do
    ids[i] = string.match(entry, '^%Z*%z(.*)$')
  end
  read_jobs(ids)
  for i, id in ipairs(ids) do
    local job = read_job(id)
    if job then
      jobs[#jobs + 1] = job
    else
      zset_remove(held_by, entries[i])
    end
  end
  return jobs, #entries < AT_MOST
end

local function end_session(worker, take_from_worker)
  redis.call('DEL', key('session', worker), key('serves', worker))
  local jobs, finished = jobs_held_by(worker, '-', '+')
  for _, job in ipairs(jobs) do
    if not settings(job.queue).session then
      zset_remove(key('held', worker), held_member(job))
    else
      take_from_worker(job)
    end
  end
  if finished then
    zset_remove(SESSIONS, worker)
  else
    zset_add(SESSIONS, worker, now)
  end
  return finished
end
