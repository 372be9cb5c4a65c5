-- feed_page: return a page of the ids of a feed, from either end, with or without the items.
--
-- args   feed backward:flag offset:int count:int with_items:flag
-- flags  no-writes
-- uses   keys feed
-- reply  {{id, ...}, {item, ...}} or a refusal
-- error  FEED_NOT_FOUND

if not open_feed(feed) then
  return 'FEED_NOT_FOUND'
end
local last = offset + count - 1
local ids = backward and redis.call('ZREVRANGE', key('order', feed), offset, last)
  or redis.call('ZRANGE', key('order', feed), offset, last)
local items = {}
if with_items and ids[1] then
  items = redis.call('HMGET', key('items', feed), unpack(ids))
end
return { ids, items }
