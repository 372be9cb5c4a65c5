-- change_limits: apply changes of the limits of queues and of throttles.
--
-- uses   keys now settings sorted_sets notices write_back lanes scan_set work_budget

-- Start to keep the waiting jobs of a queue in lanes. The agenda moves the waiting jobs of the queue
-- into the lanes, a bounded number per call. Until all jobs are in lanes, pop returns no job of the
-- queue, so that the jobs stay in order.
local function use_lanes(queue)
  local limits = settings(queue)
  if limits.governed then
    return
  end
  limits.governed = 1
  redis.call('HSET', key('settings', queue), 'governed', 1, 'limited', 1)
  flush_zsets()
  if redis.call('EXISTS', key('waiting', queue)) == 1 then
    limits.building = ''
    redis.call('HSET', key('settings', queue), 'building', '')
    zset_add(AGENDA, 'lanes:' .. queue, now)
  end
end

local RECHECK_AT_MOST = 1000

-- Let the next pops check all gates of a queue, a bounded number per call. The agenda continues.
local function recheck_gates(queue, cursor)
  local found, next_cursor = scan_set(key('gated', queue), RECHECK_AT_MOST, cursor)
  local checked_now = {}
  for i = 1, #found, 2 do
    checked_now[i], checked_now[i + 1] = 0, found[i]
  end
  if checked_now[1] then
    redis.call('ZADD', key('gated', queue), 'XX', unpack(checked_now))
  end
  if next_cursor then
    settings(queue).rechecking = cmsgpack.pack(next_cursor)
    redis.call('HSET', key('settings', queue), 'rechecking', settings(queue).rechecking)
    zset_add(AGENDA, 'gates:' .. queue, now)
  elseif settings(queue).rechecking then
    settings(queue).rechecking = nil
    redis.call('HDEL', key('settings', queue), 'rechecking')
  end
  add_work(#found / 100)
  wake(queue, 1)
end

-- Apply the changed limits of a queue. All parked lanes of the queue are checked again.
local function apply_queue_limits(queue)
  forget_settings(queue)
  local limits = settings(queue)
  local was_limited = limits.limited
  if limits.key_concurrency or limits.key_rate or limits.fair == 1 then
    use_lanes(queue)
  end
  if limits.governed or limits.concurrency or limits.rate then
    redis.call('HSET', key('settings', queue), 'limited', 1)
  else
    redis.call('HDEL', key('settings', queue), 'limited')
  end
  if was_limited then
    recheck_gates(queue)
  end
  write_back()
end

-- Delete a throttle: a named limit that jobs of several queues share. A throttle that is not set, or that has
-- ended, limits no job.
local function end_throttle(name)
  redis.call('DEL', key('throttle', name))
  redis.call('ZREM', THROTTLES, name)
  redis.call('ZREM', key('rates', ''), name)
  free_gate('t' .. name)
end
