-- feed_insert: insert items into a sorted feed at a place: first, last, before or after another item. An
-- existing item is replaced and moved to the place. If the place is '', a new item becomes the last item,
-- and an existing item does not move. Several items keep the order in which they were passed.
--
-- args   feed at_place reference
-- each   id item
-- nonce  always
-- uses   keys feed feed_change feed_order
-- reply  1 or a refusal
-- error  FEED_NOT_FOUND ITEM_NOT_FOUND

if not open_feed(feed, 'sorted') then
  return 'FEED_NOT_FOUND'
end
local items, order = key('items', feed), key('order', feed)
if reference ~= '' and not redis.call('ZSCORE', order, reference) then
  return 'ITEM_NOT_FOUND ' .. reference
end

local go, beside = at_place, reference
for id, item in each() do
  local before = redis.call('HGET', items, id)
  if not before then
    local place = insert_at(order, id, go == '' and 'last' or go, beside)
    redis.call('HSET', items, id, item)
    record_change(feed, 'published', id, item, place, '')
    raise_counter(id)
    feed_published = feed_published + 1
  else
    local place = go == '' and '' or move_to(order, id, go, beside)
    redis.call('HSET', items, id, item)
    record_change(feed, 'edited', id, item, place, '')
  end
  go, beside = next_place(id, go, beside)
end
return feed_write_back(1)
