-- seek_events: find the log entries of event numbers. For the number of a trimmed event, the result is the
-- oldest entry. For a number that does not exist yet, the result is the newest entry. The times of entries
-- never decrease, so each entry is found by binary search.
--
-- each   number:int
-- flags  no-writes
-- uses   log_entries
-- reply  {} if the log is empty, else the ids of the oldest entry, the newest entry and the entry of each number

local oldest = first_entry()
if not oldest then
  return {}
end
local newest = last_entry()
local first_ms, first_number = entry_parts(oldest)
local last_ms, last_number = entry_parts(newest)

local function seek(wanted)
  local low, high = first_ms, last_ms
  while low < high do
    local middle = math.floor((low + high) / 2)
    local _, reached = entry_parts(entry_at('XREVRANGE', string.format('%.0f', middle), '-'))
    if reached >= wanted then
      high = middle
    else
      low = middle + 1
    end
  end
  return entry_id(low, wanted)
end

local found = { oldest, newest }
for wanted in each() do
  wanted = math.max(first_number, math.min(last_number, wanted))
  found[#found + 1] = seek(wanted)
end
return found
