-- apply_queue_limits: put the changed limits of a queue into force. All parked lanes are checked again.
--
-- uses   keys settings use_lanes notices write_back

return function(queue)
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
    redis.call('ZUNIONSTORE', key('gated', queue), 1, key('gated', queue), 'WEIGHTS', 0)
    wake(queue, 1)
  end
  write_back()
end
