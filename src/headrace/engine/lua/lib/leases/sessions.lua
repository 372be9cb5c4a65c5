-- sessions: check and end the sessions of workers. Ending a session returns the jobs of the worker to the
-- front of their queues, a bounded number per call. While the worker still holds jobs, the worker stays
-- listed as dead, and the next call returns more jobs.
--
-- uses   keys now settings job_records sorted_sets set_members outages work_budget

-- Return whether the session of a worker is alive and has this token. A session that expired during an outage of
-- the server is alive until its grace is over (see outages).
local function is_live_session(worker, token)
  local ends = tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0)
  return redis.call('HGET', key('session', worker), 'token') == token
    and (ends > now or grace_of(worker, ends) ~= nil)
end

local AT_MOST = 256

-- Return at most `most` jobs that a worker holds, and whether these are all of its jobs. If a queue is passed,
-- only the jobs of this queue count.
local function jobs_held_by(worker, most, queue)
  local held_by = key('held', worker)
  local from, to = queue and '[' .. queue .. '\0' or '-', queue and '(' .. queue .. '\1' or '+'
  most = work_left(most)
  local entries = redis.call('ZRANGE', held_by, from, to, 'BYLEX', 'LIMIT', 0, most)
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
  return jobs, #entries < most
end

-- Take at most `most` jobs from a worker whose session ends. Return whether these are all of its jobs, and the
-- number of jobs. If a queue is passed, only the jobs of this queue count.
local function take_held_jobs(worker, take_from_worker, most, queue)
  local jobs, finished = jobs_held_by(worker, most, queue)
  for _, job in ipairs(jobs) do
    if not settings(job.queue).session then
      zset_remove(key('held', worker), held_member(job))
    else
      take_from_worker(job)
    end
  end
  flush_zset(key('held', worker))
  return finished, #jobs
end

-- End a session, and take a bounded number of jobs from the worker. If a queue is passed, take the jobs of this
-- queue first, and then at most `most` other jobs. Return three values: whether all jobs were taken, whether all
-- jobs of the queue were taken, and the number of other jobs that were taken.
local function end_session(worker, take_from_worker, queue, most)
  redis.call('DEL', key('session', worker), key('serves', worker))
  local queue_finished = not queue or take_held_jobs(worker, take_from_worker, AT_MOST, queue)
  local finished, others = false, 0
  if queue_finished then
    finished, others = take_held_jobs(worker, take_from_worker, most or AT_MOST)
  end
  if finished then
    zset_remove(SESSIONS, worker)
  else
    zset_add(SESSIONS, worker, now)
  end
  return finished, queue_finished, others
end
