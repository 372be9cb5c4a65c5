-- feed_move: items of a sorted feed go to a place: first, last, before or after another one. Several
-- stand there in the order in which they are given. One that is there already does not move.
--
-- args   feed at_place reference
-- each   id
-- flags  allow-oom
-- uses   keys feed feed_change feed_order feed_write_back
-- reply  1 or why not
-- error  FEED_NOT_FOUND ITEM_NOT_FOUND

if not open_feed(feed, 'sorted') then
  return 'FEED_NOT_FOUND'
end
local order = key('order', feed)
if reference ~= '' and not redis.call('ZSCORE', order, reference) then
  return 'ITEM_NOT_FOUND ' .. reference
end
-- From the one that stands at the place itself to the one farthest from it, each beside the one before: so
-- those that stand there already do not move. One that is given twice goes where it was given last.
local ids, from_the_end, moved = {}, at_place == 'last' or at_place == 'before', {}
for id in each() do
  if not redis.call('ZSCORE', order, id) then
    return 'ITEM_NOT_FOUND ' .. id
  end
  ids[#ids + 1] = id
end
local go, beside = at_place, reference
for i = 1, #ids do
  local id = ids[from_the_end and #ids + 1 - i or i]
  if not (from_the_end and moved[id]) then
    local place = move_to(order, id, go, beside)
    if place ~= '' then
      record_change(feed, 'positioned', id, '', place, '')
    end
    if from_the_end then
      go, beside = 'before', id
    else
      go, beside = next_place(id, go, beside)
    end
    moved[id] = true
  end
end
return feed_write_back(1)
