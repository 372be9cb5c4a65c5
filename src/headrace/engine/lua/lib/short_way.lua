-- short_way: what the plain cases of put, pop and complete share. They make the same changes as the
-- general form does, in a straight line.
--
-- uses   keys now grown

local log = redis.call('HMGET', LOG, 'number', 'stamp')
local first_event, last_stamp = tonumber(log[1] or 0), tonumber(log[2] or 0)
local event = first_event
local event_prefix = string.format('%.0f-', now)

-- later  housekeep

local function end_short_way()
  if event > first_event then
    redis.call('HSET', LOG, 'number', event, 'stamp', now)
  end
  local log_has_grown = grown_between(first_event, event)
  if log_has_grown or redis.call('ZRANGE', AGENDA, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1] then
    housekeep(log_has_grown)
  end
end
