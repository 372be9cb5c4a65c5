-- feed_retract: remove items from a feed. Missing items are ignored.
--
-- args   feed
-- each   id
-- flags  allow-oom
-- nonce  always
-- uses   keys feed feed_change
-- reply  for each item, 1 if it existed, else 0; or a refusal
-- error  FEED_NOT_FOUND

if not open_feed(feed) then
  return 'FEED_NOT_FOUND'
end
local answers = {}
for id in each() do
  local was_there = redis.call('HDEL', key('items', feed), id)
  if was_there == 1 then
    redis.call('ZREM', key('order', feed), id)
    record_change(feed, 'retracted', id, '', '', '')
  end
  answers[#answers + 1] = was_there
end
return feed_write_back(answers)
