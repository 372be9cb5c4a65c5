-- feed_move: items of a sorted feed go to a place: first, last, before or after another one. Several
-- stand there in the order in which they are given. One that is there already does not move.
--
-- args   feed at_place reference
-- each   id
-- flags  allow-oom
-- uses   keys feed feed_change feed_order feed_commit
-- reply  1 or why not
-- error  FEED_NOT_FOUND ITEM_NOT_FOUND

if not open_feed(feed, 'sorted') then
  return 'FEED_NOT_FOUND'
end
local order = key('order', feed)
if reference ~= '' and not redis.call('ZSCORE', order, reference) then
  return 'ITEM_NOT_FOUND ' .. reference
end
for id in each() do
  if not redis.call('ZSCORE', order, id) then
    return 'ITEM_NOT_FOUND ' .. id
  end
end
local go, beside = at_place, reference
for id in each() do
  local place = stand_elsewhere(order, id, go, beside)
  if place ~= '' then
    change(feed, 'positioned', id, '', place, '')
  end
  go, beside = following(id, go, beside)
end
return feed_commit(1)
