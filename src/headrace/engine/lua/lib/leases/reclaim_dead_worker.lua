-- reclaim_dead_worker: find the workers whose sessions expired, end their sessions, and return their jobs to
-- the front of their queues, a bounded number per call. If a session expired during an outage of the server, the
-- session is extended by the grace instead (see outages).
--
-- uses   keys now sorted_sets sessions outages return_job

local EXPIRED_AT_MOST, OF_OTHER_QUEUES = 200, 32

-- End a session, and return what end_session returns.
local function reclaim_jobs_of(worker, was_spared, queue, of_other_queues)
  local all_taken, queue_taken, others = end_session(worker, function(job)
    if was_spared then
      take_back(job, 'server outage')
    else
      reclaim_job(job, 'session ended')
    end
  end, queue, of_other_queues)
  if was_spared and not all_taken then
    -- Later calls return the remaining jobs. They lose no retry either.
    redis.call('HSET', key('session', worker), 'spared_until', now)
  end
  return all_taken, queue_taken, others
end

-- Return two flags. The first is true if all jobs of this queue that dead workers held are back in the queue. The
-- second is true if the same holds for all queues. A pop passes its queue. The call then returns the jobs of that
-- queue first, and only a few jobs of other queues, so that the pop is not delayed.
local function reclaim_dead_workers(queue)
  local expired = redis.call('ZRANGE', SESSIONS, '-inf', now, 'BYSCORE', 'LIMIT', 0, EXPIRED_AT_MOST, 'WITHSCORES')
  local all_done = #expired < 2 * EXPIRED_AT_MOST
  local queue_done, of_other_queues = all_done, OF_OTHER_QUEUES
  for i = 1, #expired, 2 do
    local worker, ends = expired[i], tonumber(expired[i + 1])
    local grace_ends, silent_since, was_spared = grace_of(worker, ends)
    if grace_ends then
      spare(worker, silent_since, grace_ends)
    else
      local all_taken, queue_taken, others = reclaim_jobs_of(worker, was_spared, queue, queue and of_other_queues)
      of_other_queues = of_other_queues - others
      queue_done = queue_done and queue_taken
      all_done = all_done and all_taken
    end
  end
  flush_zset(SESSIONS)
  return queue_done, all_done
end
