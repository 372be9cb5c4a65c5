-- trim_event_log: the event log stays within its limits of age and number; what goes is counted. What some
-- lake does not have yet stays, until there are more events than events_cap: what goes then is lost
-- to the lake, and counted as dropped. It is cut in pieces, and only so far at a time; what is left is
-- due at once.
--
-- uses   keys now settings log_entries sorted_sets

-- how far each lake has come with the log of this shard. What is not yet in every lake is not
-- trimmed.

-- The id of the newest entry that all lakes have, nil if there is no lake.
local function oldest_lake_mark()
  local lowest, lowest_number
  local marks = redis.call('HGETALL', LAKES)
  for i = 2, #marks, 2 do
    local _, event_number = entry_parts(marks[i])
    if not lowest or event_number < lowest_number then
      lowest, lowest_number = marks[i], event_number
    end
  end
  return lowest
end

local TRIM_AT_MOST = 10000

local trimmed, more

local function trim(how, limit)
  local gone = redis.call('XTRIM', EVENTS, how, '~', limit, 'LIMIT', TRIM_AT_MOST)
  trimmed = trimmed + gone
  more = more or gone > TRIM_AT_MOST / 2
  return gone
end

-- What is too old, and what is too many, as far as every lake has it.
local function trim_kept(limits, oldest_ms, kept_ms, kept_number)
  local after_kept = entry_id(kept_ms, kept_number + 1)
  trim('MINID', oldest_ms <= kept_ms and entry_id(oldest_ms, 0) or after_kept)
  -- Not by the number in the hash, which this script may have yet to write.
  local newest = last_entry()
  if newest and select(2, entry_parts(newest)) - limits.events_count > kept_number then
    trim('MINID', after_kept)
  else
    trim('MAXLEN', limits.events_count)
  end
end

-- What is too many even so.
local function trim_forced(limits, kept_number)
  local oldest = first_entry()
  local gone = trim('MAXLEN', math.max(limits.events_count, limits.events_cap))
  if gone > 0 then
    local _, oldest_number = entry_parts(oldest)
    local dropped = oldest_number + gone - math.max(oldest_number, kept_number + 1)
    if dropped > 0 then
      redis.call('HINCRBY', LOG, 'dropped', dropped)
    end
  end
end

return function()
  trimmed, more = 0, false
  local limits = settings('')
  local oldest_ms = math.max(0, now - limits.events_age)
  local kept = oldest_lake_mark()
  if kept then
    local kept_ms, kept_number = entry_parts(kept)
    trim_kept(limits, oldest_ms, kept_ms, kept_number)
    trim_forced(limits, kept_number)
  else
    trim('MINID', entry_id(oldest_ms, 0))
    trim('MAXLEN', limits.events_count)
  end
  if trimmed > 0 then
    redis.call('HINCRBY', LOG, 'trimmed', trimmed)
  end
  zset_add(AGENDA, 'events:', more and now or now + limits.events_age)
end
