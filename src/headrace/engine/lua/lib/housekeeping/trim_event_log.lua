-- trim_event_log: keep the event log within its limits on age and number, and count the deleted events.
-- Events that a lake has not stored yet are kept until the log has more than events_cap events. Events that
-- exceed events_cap are deleted although a lake has not stored them, and are counted as dropped. Each call
-- deletes a bounded number of events. If more events must be deleted, the next call is due immediately.
--
-- uses   keys now settings log_entries sorted_sets

-- Return the newest entry that all lakes have stored, or nil if no lake is known. Later entries are trimmed
-- only if the log exceeds events_cap.
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

-- Trim events that exceed the limits on age and number, if every lake has stored these events.
local function trim_kept(limits, oldest_ms, kept_ms, kept_number)
  local after_kept = entry_id(kept_ms, kept_number + 1)
  trim('MINID', oldest_ms <= kept_ms and entry_id(oldest_ms, 0) or after_kept)
  -- The event number in the hash LOG may be out of date, because this number is updated only at the end of
  -- a script.
  local newest = last_entry()
  if newest and select(2, entry_parts(newest)) - limits.events_count > kept_number then
    trim('MINID', after_kept)
  else
    trim('MAXLEN', limits.events_count)
  end
end

-- Trim events that exceed the cap, even if a lake has not stored them.
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

local function trim_event_log()
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
