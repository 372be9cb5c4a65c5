-- use_lanes: start to keep the waiting jobs of a queue in lanes. The agenda moves the jobs that already
-- wait into lanes, step by step; until it has finished, pop hands out nothing, so that the order holds.
--
-- uses   keys now settings sorted_sets

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
