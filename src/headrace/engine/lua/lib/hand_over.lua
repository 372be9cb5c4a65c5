-- hand_over: a plain job goes straight to a worker that said it would take one, as if the worker
-- popped right after the put: the same record, books and events, and the job in the notice. False
-- says that the job is to wait as usual: something else waits or is due, the offer has ended, or the
-- job has no retry that it could lose with a worker that has just died.
--
-- uses   keys now defaults setting short_way stats

local function is_anything_due()
  for _, where in ipairs({
    SESSIONS, key('scheduled', queue), key('schedules', queue), key('running', queue),
  }) do
    if tonumber(redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')[2] or math.huge) <= now then
      return true
    end
  end
  return redis.call('EXISTS', key('waiting', queue), key('ingress', queue)) > 0
end

local function holds_to(worker, ends)
  return tonumber(ends) > now and tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0) > now
end

return function(offer, id, data, retries)
  local worker, secret, ends = string.match(offer, '^(%Z+)%z(%Z+)%z(%Z+)$')
  redis.call('HDEL', key('settings', queue), 'idle')
  if own[10] or retries == 0 or setting(own[6], shared[3], default_paused) == 1
    or setting(own[7], shared[4], default_removes) == 1
    or not setting(own[8], shared[5], default_session)
    or not holds_to(worker, ends) or is_anything_due() then
    return false
  end
  local token = '1.' .. secret
  local record = cmsgpack.pack({
    'running', false, queue, 0, first_event + 1, now, now, 1, retries, retries, worker, token, false, false,
    data,
  })
  if redis.call('SETNX', job_prefix .. id, record) == 0 then
    return false
  end
  redis.call('XADD', EVENTS, event_prefix .. event + 1, 'kind', 'put', 'id', id, 'queue', queue,
    'attempt', 0, 'worker', '', 'priority', 0, 'wait', '', 'run', '', 'data', data)
  redis.call('XADD', EVENTS, event_prefix .. event + 2, 'kind', 'popped', 'id', id, 'queue', queue,
    'attempt', 1, 'worker', worker, 'priority', 0, 'wait', 0, 'run', '', 'data', '')
  event = event + 2
  redis.call('ZADD', key('running', queue), 'inf', id)
  redis.call('ZADD', key('held', worker), 0, queue .. '\0' .. id)
  local books = key('books', queue)
  redis.call('HINCRBY', books, 'put', 1)
  redis.call('HINCRBY', books, 'running', 1)
  if setting(own[9], shared[6], default_stats) == 1 then
    write_series(queue, 'wait', { 0 })
  end
  redis.call('SPUBLISH', key('worker', worker), cmsgpack.pack({ 'handed', id, record }))
  end_short_way()
  return true
end
