-- lakes: the event log of the shard, and how far each lake has come with it.
--
-- uses   keys log_ends
-- reply  {oldest entry, newest entry, number of the newest event, trimmed, dropped, {lake, entry, ...}}

local log = redis.call('HMGET', LOG, 'number', 'trimmed', 'dropped')
return {
  first_entry() or '',
  last_entry() or '',
  tonumber(log[1] or 0),
  tonumber(log[2] or 0),
  tonumber(log[3] or 0),
  redis.call('HGETALL', LAKES),
}
