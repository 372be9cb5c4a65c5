-- fast_path: what the plain cases of put, pop and complete share. They make the same changes as the
-- general form does, in a straight line. Numbers are written by %d, in half the time of other ways.
--
-- uses   keys now log_needs_trim

local first_event, last_stamp = unpack(redis.call('HMGET', LOG, 'number', 'stamp'))
first_event, last_stamp = tonumber(first_event or 0), tonumber(last_stamp or 0)
local event = first_event
local event_prefix = string.format('%d-', now)

-- Whether there is housekeeping to do, and whether it is because the log has grown. The general form of
-- the operation does that as well; it is made behind the short way, as what is made is to be collected.
local function end_fast_path(crowded)
  if event > first_event then
    redis.call('HSET', LOG, 'number', event, 'stamp', now)
  end
  local trim_due = log_needs_trim(first_event, event)
  return crowded or trim_due or redis.call('ZCOUNT', AGENDA, '-inf', now) > 0, trim_due
end

-- whether a job is tied to more than its queue. What follows from that is for the general form
-- of an operation.

local function needs_general_path(extras)
  return extras.start_by or extras.key or extras.throttles or extras.unique or extras.awaited
    or extras.group or extras.tracked
end
