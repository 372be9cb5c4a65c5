-- import_items: import items from another feed, at the end, in the given order. An import brings each item
-- once, even if it is gone by now; an item whose id is taken is skipped.
--
-- args   import_name feed
-- each   id item
-- uses   keys sorted_sets feed feed_change feed_order feed_evict feed_write_back imported_ids
-- reply  for each, 1, or 0 if it was imported before; or a refusal
-- error  FEED_NOT_FOUND

if not open_feed(feed) then
  return 'FEED_NOT_FOUND'
end
local items, order = key('items', feed), key('order', feed)
local is_sorted = redis.call('HGET', feed_key, 'kind') == 'sorted'

local function import_id_of(id)
  return feed .. '\0' .. id
end

local import_ids = {}
for id in each() do
  import_ids[#import_ids + 1] = import_id_of(id)
end
local before = imported_as(import_name, import_ids)
local answers, published = {}, feed_published
for id, item in each() do
  local at = #answers + 1
  answers[at] = 0
  if not before[at] and redis.call('HSETNX', items, id, item) == 1 then
    if is_sorted then
      record_change(feed, 'published', id, item, insert_at(order, id, 'last'), '')
      raise_counter(id)
    else
      record_change(feed, 'published', id, item, 'newest', '')
      redis.call('ZADD', order, feed_number, id)
    end
    feed_published = feed_published + 1
    note_imported(import_id_of(id), id)
    answers[at] = 1
  end
end
write_imported(import_name)
flush_zsets()
if feed_published > published and not is_sorted then
  feed_evict(feed)
end
return feed_write_back(answers)
