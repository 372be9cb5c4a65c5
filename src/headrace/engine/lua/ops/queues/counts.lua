-- counts: count the jobs of each queue by state. The reply also contains the number of expired leases
-- (late), the number of due jobs, and whether the queue is paused.
--
-- each   queue
-- flags  no-writes
-- uses   keys now settings kept_jobs
-- reply  for each queue, {exists, paused, late, due, waiting, scheduled, blocked, running, failed, complete}

local function counted(queue)
  local limits = settings(queue)
  local reply = {
    limits.created and 1 or 0, limits.paused,
    redis.call('ZCOUNT', key('running', queue), '-inf', now),
    redis.call('ZCOUNT', key('scheduled', queue), '-inf', now),
  }
  for _, state in ipairs({ 'waiting', 'scheduled', 'blocked', 'running', 'failed', 'complete' }) do
    reply[#reply + 1] = redis.call('ZCARD', key(state, queue))
  end
  reply[#reply] = reply[#reply] - hidden_completed(queue)
  return reply
end

local replies = {}
for queue in each() do
  replies[#replies + 1] = counted(queue)
end
return replies
