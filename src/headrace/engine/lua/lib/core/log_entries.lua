-- log_entries: parse and build the ids of log entries, and find the first and the last entry of the event
-- log.
--
-- uses   keys

local function entry_parts(entry)
  local ms, event_number = string.match(entry, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(event_number)
end

local function entry_id(ms, event_number)
  return string.format('%.0f-%.0f', ms, event_number)
end

-- Return the id of one log entry in a range, or nil if the range is empty. XRANGE finds the oldest entry, and
-- XREVRANGE finds the newest entry.
local function entry_at(command, from, to)
  local found = redis.call(command, EVENTS, from, to, 'COUNT', 1)[1]
  return found and found[1]
end

local function first_entry()
  return entry_at('XRANGE', '-', '+')
end

local function last_entry()
  return entry_at('XREVRANGE', '+', '-')
end
