-- kept_jobs: hide completed jobs, results and statistics whose retention has ended. Housekeeping deletes them
-- later. A read therefore returns the same jobs, whether or not housekeeping has run.
--
-- uses   keys now settings statistics

-- The number of completed jobs that are hidden, for each queue.
local hidden_in = {}

-- Return how many of the oldest completed jobs of a queue are no longer kept.
local function hidden_completed(queue)
  if not hidden_in[queue] then
    local kept = key('complete', queue)
    local limits = settings(queue)
    hidden_in[queue] = math.max(0, redis.call('ZCARD', kept) - limits.keep_count,
      redis.call('ZCOUNT', kept, '-inf', now - limits.keep_age))
  end
  return hidden_in[queue]
end

local function has_result(id)
  return redis.call('EXISTS', key('result', id)) == 1
    and tonumber(redis.call('ZSCORE', AGENDA, 'result:' .. id) or math.huge) > now
end

-- Return whether the retention of a job has ended. A job is kept as long as its result.
local function is_past_retention(job)
  if job.state ~= 'complete' then
    return false
  end
  local rank = redis.call('ZRANK', key('complete', job.queue), job.id)
  return not (rank and rank >= hidden_completed(job.queue)) and not has_result(job.id)
end

-- Return whether the statistics or the histogram of a day are still kept.
local function is_day_kept(day, age)
  return (day + 1) * DAY + age > now
end
