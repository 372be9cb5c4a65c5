-- short_way: what the plain cases of put, pop and complete share. They make the same changes as the
-- general form does, in a straight line. Numbers are written by %d, in half the time of other ways.
--
-- uses   keys now grown

local log = redis.call('HMGET', LOG, 'number', 'stamp')
local first_event, last_stamp = tonumber(log[1] or 0), tonumber(log[2] or 0)
local event = first_event
local event_prefix = string.format('%d-', now)

-- Whether there is housekeeping to do, and whether it is because the log has grown. The general form of
-- the operation does that as well; it is made behind the short way, as what is made is to be collected.
local function end_short_way(crowded)
  if event > first_event then
    redis.call('HSET', LOG, 'number', event, 'stamp', now)
  end
  local log_has_grown = grown_between(first_event, event)
  return crowded or log_has_grown or redis.call('ZCOUNT', AGENDA, '-inf', now) > 0, log_has_grown
end

-- whether a job is tied to more than its queue. What follows from that is for the general form
-- of an operation.

local function has_ties(extras)
  return extras.start_by or extras.key or extras.throttles or extras.unique or extras.awaited
    or extras.group or extras.tracked
end
