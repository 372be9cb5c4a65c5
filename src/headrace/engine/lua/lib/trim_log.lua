-- trim_log: keeps the event log within its limits of age and number; what is dropped is counted.
--
-- uses   keys now settings emit places

local TRIM_EVERY = 256
local TRIM_AT_MOST = 10000

local function trim_log()
  local limits = config()
  local oldest = string.format('%.0f', math.max(0, now - limits.events_age))
  local dropped = redis.call('XTRIM', EVENTS, 'MINID', '~', oldest, 'LIMIT', TRIM_AT_MOST)
    + redis.call('XTRIM', EVENTS, 'MAXLEN', '~', limits.events_count, 'LIMIT', TRIM_AT_MOST)
  if dropped > 0 then
    redis.call('HINCRBY', LOG, 'trimmed', dropped)
  end
end

-- The agenda sees to a log that nothing is added to any more.
local function trim_log_if_grown()
  if number and math.floor(number / TRIM_EVERY) ~= math.floor(first_number / TRIM_EVERY) then
    trim_log()
    place(AGENDA, 'events:', now + config().events_age)
  end
end
