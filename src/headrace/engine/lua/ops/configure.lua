-- configure: sets options of a queue, which comes into being by it; an empty one is unset.
--
-- args   queue
-- each   name value:optional
-- flags  allow-oom
-- uses   keys open_queue notices
-- reply  1

open_queue(queue)
for name, value in each() do
  if value then
    redis.call('HSET', key('settings', queue), name, value)
    if name == 'paused' and value == '0' then
      wake(queue, 1)
    end
  else
    redis.call('HDEL', key('settings', queue), name)
  end
end
send_notices()
return 1
