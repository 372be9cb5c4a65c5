-- mark_lake: record that a lake has stored the events of this shard up to an entry, so that these events
-- may be trimmed. The entry 0-0 means that the lake has not stored any events. A mark never moves back. A
-- mark that cannot belong to this log is refused, because the lake must have read another log.
--
-- args   lake entry
-- flags  allow-oom
-- uses   keys log_entries sorted_sets trim_event_log
-- reply  1, or a refusal
-- error  LAKE_AHEAD NOT_THIS_LOG TOO_MANY_LAKES

local LAKES_AT_MOST = 64

local ms, marked = entry_parts(entry)

-- Return whether the entry is in the log, or may have been in the log before the log was trimmed.
local function is_of_this_log(newest_number, newest_ms)
  local oldest = first_entry()
  if not oldest then
    return ms <= newest_ms and (marked < newest_number or ms == newest_ms)
  end
  local oldest_ms, oldest_number = entry_parts(oldest)
  if marked < oldest_number then
    return ms <= oldest_ms
  end
  return entry_at('XRANGE', entry, entry) ~= nil
end

local newest_number, newest_ms = unpack(redis.call('HMGET', LOG, 'number', 'stamp'))
newest_number, newest_ms = tonumber(newest_number or 0), tonumber(newest_ms or 0)
if marked > newest_number then
  return string.format('LAKE_AHEAD %.0f', newest_number)
elseif not is_of_this_log(newest_number, newest_ms) then
  return 'NOT_THIS_LOG'
end
local before = redis.call('HGET', LAKES, lake)
if not before and redis.call('HLEN', LAKES) >= LAKES_AT_MOST then
  return string.format('TOO_MANY_LAKES %d', LAKES_AT_MOST)
end
if not before or marked > select(2, entry_parts(before)) then
  redis.call('HSET', LAKES, lake, entry)
  trim_event_log()
  flush_zsets()
end
return 1
