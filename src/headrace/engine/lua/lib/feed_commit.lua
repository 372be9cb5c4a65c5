-- feed_commit: the end of an operation on a feed. A call in which nothing happened writes nothing.
--
-- uses   keys now emit grown

-- later  housekeep

local function feed_commit(reply)
  if number then
    redis.call('HSET', LOG, 'number', number, 'stamp', stamp)
    local log_has_grown = grown_between(first_number, number)
    if log_has_grown or redis.call('ZRANGE', AGENDA, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1] then
      housekeep(log_has_grown)
    end
  end
  return reply
end
