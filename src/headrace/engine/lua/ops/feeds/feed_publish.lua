-- feed_publish: publish items in a plain feed. An existing item is replaced and keeps its position. With
-- `touch`, an existing item becomes the newest item. A bounded feed that exceeds its limit evicts its
-- oldest items.
--
-- args   feed touch:flag
-- each   id item
-- nonce  always
-- uses   keys feed feed_change
-- reply  1 or a refusal
-- error  FEED_NOT_FOUND

if not open_feed(feed, 'plain') then
  return 'FEED_NOT_FOUND'
end
local items, order = key('items', feed), key('order', feed)
local published = feed_published
for id, item in each() do
  local is_new = redis.call('HSET', items, id, item) == 1
  local place = (is_new or touch) and 'newest' or ''
  record_change(feed, is_new and 'published' or 'edited', id, item, place, '')
  if place ~= '' then
    redis.call('ZADD', order, feed_number, id)
  end
  feed_published = feed_published + (is_new and 1 or 0)
end
if feed_published > published then
  feed_evict(feed)
end
return feed_write_back(1)
