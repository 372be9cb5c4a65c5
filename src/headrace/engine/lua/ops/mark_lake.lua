-- mark_lake: a lake has kept the events of this shard up to an entry, so that they may be trimmed. A
-- mark never falls. One beyond the log is refused: then this is not the log that the lake has read.
--
-- args   lake entry
-- uses   keys log_ends
-- reply  1, or why not
-- error  AHEAD

local _, marked = entry_parts(entry)
local newest = tonumber(redis.call('HGET', LOG, 'number') or 0)
if marked > newest then
  return string.format('AHEAD %.0f', newest)
end
local before = redis.call('HGET', LAKES, lake)
local _, marked_before = entry_parts(before or '0-0')
if not before or marked > marked_before then
  redis.call('HSET', LAKES, lake, entry)
end
return 1
