-- lakes: the event log of the shard, and how far each lake has come with it. The newest entry is told also
-- when it has been trimmed.
--
-- uses   keys log_entries
-- reply  {oldest entry that is there, newest entry, trimmed, dropped, when the log was begun,
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
