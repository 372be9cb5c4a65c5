-- hand_one: create one job as put_one does and hand it directly to a worker that offered to take one. The
-- record, books and events are those of a put followed by a pop, and the notice contains the job. If that
-- is impossible, the job is not created. A useless offer is withdrawn: it expired, other jobs wait, or the
-- job has no retry to lose with a worker that has just died.
--
-- args   queue id data
-- uses   keys now defaults setting_value job_packing plain_put_event fast_path_enabled log_needs_trim statistics
-- reply  1 created, 0 call put, 2 call put_one for this and the next jobs, -1 call put for this and the next jobs

local where = job_prefix .. id
if again and redis.call('EXISTS', where) == 1 then
  return 1
end
local governed, offer, created, own_retries, own_event_data, limited, own_paused, own_removes, own_session, own_stats =
  unpack(redis.call('HMGET', key('settings', queue), 'governed', 'idle', 'created', 'retries', 'event_data',
    'limited', 'paused', 'removes', 'session', 'stats'))
if governed then
  return -1
elseif not offer then
  return 2
end
local last_number, last_stamp = unpack(redis.call('HMGET', LOG, 'number', 'stamp'))
local number = tonumber(last_number or 0)
if not FAST_PATH or not created or number == 0 or tonumber(last_stamp) > now or log_needs_trim(number, number + 2)
  or redis.call('ZCOUNT', AGENDA, '-inf', now) > 0 then
  return 0
end
local shared_retries, shared_event_data, shared_paused, shared_removes, shared_session, shared_stats =
  unpack(redis.call('HMGET', CONFIG, 'retries', 'event_data', 'paused', 'removes', 'session', 'stats'))
local retries = setting_value(own_retries, shared_retries, default_retries)
if #data > INLINE then
  return -1
end
local worker, secret, ends = string.match(offer, '^(%Z+)%z(%Z+)%z(%Z+)$')
local session_mode = setting_value(own_session, shared_session, default_session)
if limited or retries == 0 or setting_value(own_paused, shared_paused, default_paused) == 1
  or setting_value(own_removes, shared_removes, default_removes) == 1
  or not session_mode or session_mode == 'required' and not redis.call('ZSCORE', key('serves', worker), queue)
  or tonumber(ends) <= now or tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0) <= now
  or redis.call('EXISTS', key('waiting', queue), key('ingress', queue)) > 0 then
  redis.call('HDEL', key('settings', queue), 'idle')
  return 2
end
for _, comes in ipairs({
  SESSIONS, key('scheduled', queue), key('schedules', queue), key('running', queue),
}) do
  if tonumber(redis.call('ZRANGE', comes, 0, 0, 'WITHSCORES')[2] or math.huge) <= now then
    return 0
  end
end
local with_stats = setting_value(own_stats, shared_stats, default_stats) == 1
local day = stats_day_name(queue)
local stats = key('stats', day)
local count, mean, vk
if with_stats then
  count, mean, vk = unpack(redis.call('HMGET', stats, 'wait:count', 'wait:mean', 'wait:vk'))
end
if with_stats and not count then
  return 0
end

local record = JUST_POPPED
  .. cmsgpack.pack(queue, 0, number + 1, now, retries, data, now, 1, retries, worker, '1.' .. secret)
if redis.call('SETNX', where, record) == 0 then
  return 1
end
redis.call('HDEL', key('settings', queue), 'idle')
add_plain_put_event(string.format('%d-%d', now, number + 1), queue, id, data,
  setting_value(own_event_data, shared_event_data, default_event_data))
redis.call('XADD', EVENTS, string.format('%d-%d', now, number + 2), 'kind', 'popped', 'id', id, 'queue', queue,
  'attempt', '1', 'worker', worker, 'priority', '0', 'wait', '0', 'run', '', 'data', '')
redis.call('ZADD', key('running', queue), 'inf', id)
redis.call('ZADD', key('held', worker), '0', queue .. '\0' .. id)
redis.call('HINCRBY', key('books', queue), 'put', '1')
redis.call('HINCRBY', key('books', queue), 'running', '1')
if with_stats then
  -- One more wait of 0 milliseconds.
  local n, before = count + 1, tonumber(mean)
  local after = before + (0 - before) / n
  redis.call('HSET', stats, 'wait:count', n, 'wait:mean', string.format('%.17g', after),
    'wait:vk', string.format('%.17g', vk + (0 - after) * (0 - before)))
  redis.call('HINCRBY', key('histogram', day), 'wait:s0', '1')
end
redis.call('SPUBLISH', key('worker', worker), cmsgpack.pack({ 'handed', id, record }))
redis.call('HSET', LOG, 'number', number + 2, 'stamp', now)
return 1
