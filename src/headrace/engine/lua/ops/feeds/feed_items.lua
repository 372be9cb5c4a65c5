-- feed_items: return items of a feed by id.
--
-- args   feed
-- each   id
-- flags  no-writes
-- uses   keys feed
-- reply  for each id, the item or nothing; or a refusal
-- error  FEED_NOT_FOUND

if not open_feed(feed) then
  return 'FEED_NOT_FOUND'
end
local items = {}
for id in each() do
  items[#items + 1] = redis.call('HGET', key('items', feed), id)
end
return items
