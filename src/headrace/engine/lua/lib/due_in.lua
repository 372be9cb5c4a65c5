-- due_in: the milliseconds until something of a queue becomes due by itself: a scheduled job, the turn
-- of a schedule, a lease or a session that runs out. -1 when nothing will.
--
-- uses   keys now

local function due_in(queue)
  local earliest = math.huge
  for _, where in ipairs({
    key('scheduled', queue), key('schedules', queue), key('running', queue), SESSIONS,
  }) do
    local first = redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')
    earliest = math.min(earliest, tonumber(first[2] or math.huge))
  end
  if earliest == math.huge then
    return -1
  end
  return math.max(0, earliest - now)
end
