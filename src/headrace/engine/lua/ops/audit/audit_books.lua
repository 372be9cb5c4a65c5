-- audit_books: return the books of a queue, the sizes of its sorted sets, and the number of unique values
-- that jobs hold.
--
-- args   queue
-- flags  no-writes
-- uses   keys
-- reply  {{counter, value, ...}, {state, members, ...}, claims}

local held_now = {}
for _, state in ipairs({ 'waiting', 'scheduled', 'blocked', 'running', 'failed', 'complete' }) do
  held_now[#held_now + 1] = state
  held_now[#held_now + 1] = redis.call('ZCARD', key(state, queue))
end
return { redis.call('HGETALL', key('books', queue)), held_now, redis.call('HLEN', key('unique', queue)) }
