-- feed_move: move items of a sorted feed to a place: first, last, before or after another item. Several
-- items keep the order in which they were passed. An item that is already at its place does not move.
--
-- args   feed at_place reference
-- each   id
-- flags  allow-oom
-- nonce  always
-- uses   keys feed feed_change feed_order
-- reply  1 or a refusal
-- error  FEED_NOT_FOUND ITEM_NOT_FOUND

if not open_feed(feed, 'sorted') then
  return 'FEED_NOT_FOUND'
end
local order = key('order', feed)
if reference ~= '' and not redis.call('ZSCORE', order, reference) then
  return 'ITEM_NOT_FOUND ' .. reference
end
-- Items are placed one after another, starting at the target, each next to the previous item. Therefore
-- items that are already in place do not move. An item that is passed twice gets the place of its last
-- occurrence.
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
