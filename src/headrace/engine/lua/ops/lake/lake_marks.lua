-- lake_marks: return the oldest and the newest entry of the shard's event log, and how far each lake has
-- read the log. The newest entry is returned even if it was trimmed.
--
-- flags  no-writes
-- uses   keys log_entries
-- reply  {oldest entry, newest entry, trimmed, dropped, creation time of the log,
--        {lake, entry, ...}}

local number, stamp, trimmed, dropped = unpack(redis.call('HMGET', LOG, 'number', 'stamp', 'trimmed', 'dropped'))
return {
  first_entry() or '',
  entry_id(tonumber(stamp or 0), tonumber(number or 0)),
  tonumber(trimmed or 0),
  tonumber(dropped or 0),
  tonumber(redis.call('HGET', META, 'created') or 0),
  redis.call('HGETALL', LAKES),
}
