-- counts: count the jobs of each queue by state, with expired leases (late) and due jobs, and return
-- whether the queue is paused.
--
-- each   queue
-- uses   keys now settings
-- reply  for each, {exists, paused, late, due, waiting, scheduled, blocked, running, failed, complete}

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
  return reply
end

local replies = {}
for queue in each() do
  replies[#replies + 1] = counted(queue)
end
return replies
