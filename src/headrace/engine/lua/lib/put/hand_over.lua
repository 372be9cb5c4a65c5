-- hand_over: create a job and hand it directly to a worker that offered to take a job. The record, books and
-- events are those of a put followed by a pop, and the notice contains the job. An offer that cannot be used is
-- withdrawn, for example an offer that has expired. A job without retries is not handed over, because the job
-- would fail if the worker has just died.
--
-- uses   keys now defaults setting_value job_packing events short_path endless_leases statistics

-- Return whether the worker can take a job of the queue, and whether the queue has statistics.
local function can_take(queue, worker, ends, retries)
  local limited, own_paused, own_removes, own_session, own_stats = unpack(redis.call('HMGET', key('settings', queue),
    'limited', 'paused', 'removes', 'session', 'stats'))
  local shared_paused, shared_removes, shared_session, shared_stats = unpack(redis.call('HMGET', CONFIG, 'paused',
    'removes', 'session', 'stats'))
  local session_mode = setting_value(own_session, shared_session, DEFAULT_SESSION)
  local can = not limited and retries ~= 0
    and setting_value(own_paused, shared_paused, DEFAULT_PAUSED) ~= 1
    and setting_value(own_removes, shared_removes, DEFAULT_REMOVES) ~= 1
    and session_mode and (session_mode ~= 'required' or redis.call('ZSCORE', key('serves', worker), queue))
    and tonumber(ends) > now and tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0) > now
    and redis.call('EXISTS', key('waiting', queue), key('ingress', queue)) == 0
  return can, setting_value(own_stats, shared_stats, DEFAULT_STATS) == 1
end

-- Return whether the job was created and handed over.
local function hand_over(queue, id, data, offer, retries, largest)
  local worker, secret, ends = string.match(offer, '^(%Z+)%z(%Z+)%z(%Z+)$')
  local can, with_stats = can_take(queue, worker, ends, retries)
  if not can then
    redis.call('HDEL', key('settings', queue), 'idle')
    return false
  elseif first_due(queue) <= now then
    return false
  end
  local record = JUST_POPPED
    .. cmsgpack.pack(queue, 0, number + 1, now, retries, data, now, 1, retries, worker, '1.' .. secret)
  if redis.call('SETNX', job_prefix .. id, record) == 0 then
    return false
  end
  redis.call('HDEL', key('settings', queue), 'idle')
  add_put_event(queue, id, data, '0', largest)
  append_event('popped', id, queue, 1, worker, 0, 0, '', '')
  redis.call('ZADD', key('running', queue), endless_score(secret), id)
  redis.call('ZADD', key('held', worker), '0', queue .. '\0' .. id)
  redis.call('HINCRBY', key('books', queue), 'put', '1')
  redis.call('HINCRBY', key('books', queue), 'running', '1')
  if with_stats then
    write_series(queue, 'wait', { 0 })
  end
  redis.call('SPUBLISH', key('worker', worker), cmsgpack.pack({ 'handed', id, record }))
  return true
end
