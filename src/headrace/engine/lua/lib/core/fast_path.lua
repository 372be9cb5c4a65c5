-- fast_path: what the fast paths of put, pop and complete share. A fast path makes the same changes as the
-- general path in straight-line code. Numbers are formatted with %d, which takes half the time of other
-- formats.
--
-- uses   keys now log_needs_trim

local first_event, last_stamp = unpack(redis.call('HMGET', LOG, 'number', 'stamp'))
first_event, last_stamp = tonumber(first_event or 0), tonumber(last_stamp or 0)
local event = first_event
local event_prefix = string.format('%d-', now)

-- Return whether housekeeping is due, and whether the log must be trimmed. The general path does the
-- housekeeping too; its functions are created only if it runs, because each created function costs garbage
-- collection.
local function end_fast_path(crowded)
  if event > first_event then
    redis.call('HSET', LOG, 'number', event, 'stamp', now)
  end
  local trim_due = log_needs_trim(first_event, event)
  return crowded or trim_due or redis.call('ZCOUNT', AGENDA, '-inf', now) > 0, trim_due
end

-- Whether a job has extra fields that only the general path handles.
local function needs_general_path(extras)
  return extras.start_by or extras.key or extras.throttles or extras.unique or extras.awaited
    or extras.group or extras.tracked
end
