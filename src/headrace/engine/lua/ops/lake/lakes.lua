-- lakes: the event log of the shard, and how far each lake has come with it. The newest entry is told also
-- when it has been trimmed.
--
-- uses   keys log_entries
-- reply  {oldest entry that is there, newest entry, trimmed, dropped, when the log was begun,
--        {lake, entry, ...}}

local log = redis.call('HMGET', LOG, 'number', 'stamp', 'trimmed', 'dropped')
return {
  first_entry() or '',
  entry_id(tonumber(log[2] or 0), tonumber(log[1] or 0)),
  tonumber(log[3] or 0),
  tonumber(log[4] or 0),
  tonumber(redis.call('HGET', META, 'created') or 0),
  redis.call('HGETALL', LAKES),
}
