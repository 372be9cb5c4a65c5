-- trim_log: the event log stays within its limits of age and number; what goes is counted. What some
-- lake does not have yet stays, until there are more events than events_cap: what goes then is lost
-- to the lake, and counted as dropped.
--
-- uses   keys now settings log_ends lakes

local TRIM_AT_MOST = 10000

local function trim(how, limit)
  return redis.call('XTRIM', EVENTS, how, '~', limit, 'LIMIT', TRIM_AT_MOST)
end

local function oldest_number()
  local oldest = first_entry()
  return oldest and select(2, entry_parts(oldest))
end

local function trim_below(limits, oldest_ms, kept)
  local kept_ms, kept_number = entry_parts(kept)
  local after_kept = string.format('%.0f-%.0f', kept_ms, kept_number + 1)
  local trimmed = trim('MINID', oldest_ms <= kept_ms and string.format('%.0f', oldest_ms) or after_kept)
  local newest = last_entry()
  if not newest then
    return trimmed
  elseif select(2, entry_parts(newest)) - limits.events_count <= kept_number then
    trimmed = trimmed + trim('MAXLEN', limits.events_count)
  else
    trimmed = trimmed + trim('MINID', after_kept)
  end
  local before = oldest_number()
  local forced = trim('MAXLEN', math.max(limits.events_count, limits.events_cap))
  local lost = forced > 0 and before + forced - 1 - math.max(kept_number, before - 1) or 0
  if lost > 0 then
    redis.call('HINCRBY', LOG, 'dropped', lost)
  end
  return trimmed + forced
end

return function()
  local limits = settings('')
  local oldest_ms = math.max(0, now - limits.events_age)
  local kept = kept_by_all()
  local trimmed
  if kept then
    trimmed = trim_below(limits, oldest_ms, kept)
  else
    trimmed = trim('MINID', string.format('%.0f', oldest_ms)) + trim('MAXLEN', limits.events_count)
  end
  if trimmed > 0 then
    redis.call('HINCRBY', LOG, 'trimmed', trimmed)
  end
end
