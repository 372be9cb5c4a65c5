-- throttle: return the limits of a throttle, the running jobs that the throttle counts, and the queues with jobs
-- that wait because of the throttle.
--
-- args   name most:int
-- flags  no-writes
-- uses   keys now
-- reply  {concurrency, rate, milliseconds left or -1, running jobs, {id, ...}, {queue, ...}}

local concurrency, rate = unpack(redis.call('HMGET', key('throttle', name), 'concurrency', 'rate'))
local ends = tonumber(redis.call('ZSCORE', THROTTLES, name) or math.huge)
local gate = 't' .. name
return {
  concurrency, rate, ends == math.huge and -1 or math.max(0, ends - now),
  redis.call('ZCOUNT', key('gate', gate), '(' .. now, '+inf'),
  redis.call('ZRANGE', key('gate', gate), '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, most),
  redis.call('ZRANGE', key('stops', name), 0, most - 1),
}
