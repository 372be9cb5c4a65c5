-- feed_commit: the end of an operation on a feed. A call in which nothing happened writes nothing.
--
-- uses   keys now emit grown feed

-- later  housekeep

local function feed_commit(reply)
  if not number then
    return reply
  end
  if feed_key then
    redis.call('HSET', feed_key, 'number', feed_number, 'published', feed_published, 'by', feed_by)
  end
  redis.call('HSET', LOG, 'number', number, 'stamp', stamp, 'changes', changes)
  local log_has_grown = grown_between(first_number, number)
  if log_has_grown or redis.call('ZCOUNT', AGENDA, '-inf', now) > 0 then
    housekeep('chores', log_has_grown)
  end
  return reply
end
