-- due_in: the milliseconds until something becomes due by itself, -1 when nothing will.
--
-- uses   keys now

-- Sorted sets by time of what may give a queue work by itself: a scheduled job, the turn of
-- a schedule, a lease or a session that runs out, a gate that opens.
local function what_comes(queue)
  return {
    key('scheduled', queue), key('schedules', queue), key('running', queue), SESSIONS, key('gated', queue),
  }
end

local function due_in(sets, earliest)
  for _, where in ipairs(sets) do
    local first = redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')
    earliest = math.min(earliest, tonumber(first[2] or math.huge))
  end
  if earliest == math.huge then
    return -1
  end
  return math.max(0, earliest - now)
end
