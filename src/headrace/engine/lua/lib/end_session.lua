-- end_session: takes a worker's session away and gives its jobs back to the front. Done in bounded
-- steps: while jobs remain the name stays listed as dead, and the next caller goes on.
--
-- uses   keys now settings jobs places move

local AT_MOST = 256

local function worker_jobs(worker, from, to)
  local ids = {}
  for _, entry in ipairs(
    redis.call('ZRANGE', key('held', worker), from, to, 'BYLEX', 'LIMIT', 0, AT_MOST)
  ) do
    ids[#ids + 1] = string.match(entry, '^%Z*%z(.*)$')
  end
  read_jobs(ids)
  return ids
end

local function end_session(worker, return_job)
  redis.call('DEL', key('session', worker), key('serves', worker))
  local ids = worker_jobs(worker, '-', '+')
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if not settings(job.queue).session then
      lift(key('held', worker), held_member(job))
    else
      return_job(job)
    end
  end
  local finished = #ids < AT_MOST
  if finished then
    lift(SESSIONS, worker)
  else
    place(SESSIONS, worker, now)
  end
  return finished
end
