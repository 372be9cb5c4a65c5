-- govern: from now on the waiting jobs of a queue stand in lanes. Those that wait already are lined up
-- by the agenda, step by step; until then pop hands out nothing, so that the order holds.
--
-- uses   keys now settings places

local function govern(queue)
  local limits = settings(queue)
  if limits.governed then
    return
  end
  limits.governed = 1
  redis.call('HSET', key('settings', queue), 'governed', 1, 'limited', 1)
  settle()
  if redis.call('EXISTS', key('waiting', queue)) == 1 then
    limits.building = ''
    redis.call('HSET', key('settings', queue), 'building', '')
    place(AGENDA, 'lanes:' .. queue, now)
  end
end
