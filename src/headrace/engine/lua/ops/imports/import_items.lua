-- import_items: append items from another feed to this feed, in the order in which they were passed. An
-- import creates each item only once, even if the item has been deleted since then. An item whose id
-- already exists is skipped.
--
-- args   import_name feed
-- each   id item
-- uses   keys sorted_sets feed feed_change feed_order imported_ids
-- reply  for each item, 1, or 0 if the item was imported before or its id is taken; or a refusal
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
