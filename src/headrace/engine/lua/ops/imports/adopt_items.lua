-- adopt_items: items that another feed had are published here, at the end, in the given order. Each comes
-- once with an import, also if it is gone by now; one whose id is taken stays as it is.
--
-- args   import_name feed
-- each   id item
-- uses   keys places feed feed_change feed_order feed_evict feed_commit adopted
-- reply  for each, 1 or 0 if it came before, or why not
-- error  FEED_NOT_FOUND

if not open_feed(feed) then
  return 'FEED_NOT_FOUND'
end
local items, order = key('items', feed), key('order', feed)
local is_sorted = redis.call('HGET', feed_key, 'kind') == 'sorted'

local function badge_of(id)
  return feed .. '\0' .. id
end

local badges = {}
for id in each() do
  badges[#badges + 1] = badge_of(id)
end
local before = adopted_as(import_name, badges)
local answers, published = {}, feed_published
for id, item in each() do
  local at = #answers + 1
  answers[at] = 0
  if not before[at] and redis.call('HSETNX', items, id, item) == 1 then
    if is_sorted then
      change(feed, 'published', id, item, stand(order, id, 'last'), '')
      count_past(id)
    else
      change(feed, 'published', id, item, 'newest', '')
      redis.call('ZADD', order, feed_number, id)
    end
    feed_published = feed_published + 1
    note_adopted(badge_of(id), id)
    answers[at] = 1
  end
end
write_adopted(import_name)
settle()
if feed_published > published and not is_sorted then
  feed_evict(feed)
end
return feed_commit(answers)
