-- feed_publish: items of a plain feed. One that is there is replaced and keeps its place, unless it
-- is touched: then it is the newest. A bounded feed loses its oldest. The nonce tells a repeated
-- call from a second one.
--
-- args   feed touch:flag nonce
-- each   id item
-- uses   keys feed feed_change feed_evict feed_commit
-- reply  1 or why not
-- error  FEED_NOT_FOUND

if not open_feed(feed, 'plain') then
  return 'FEED_NOT_FOUND'
end
local where, items, order = key('feed', feed), key('items', feed), key('order', feed)
if again and feed_by == nonce then
  return 1
end
local published = 0
for id, item in each() do
  if not again or touch or redis.call('HGET', items, id) ~= item then
    local is_new = redis.call('HSET', items, id, item) == 1
    local place = (is_new or touch) and 'newest' or ''
    local count = change(feed, is_new and 'published' or 'edited', id, item, place, '')
    if place ~= '' then
      redis.call('ZADD', order, count, id)
    end
    published = published + (is_new and 1 or 0)
  end
end
if number then
  redis.call('HSET', where, 'by', nonce)
end
if published > 0 then
  redis.call('HINCRBY', where, 'published', published)
  feed_evict(feed)
end
return feed_commit(1)
