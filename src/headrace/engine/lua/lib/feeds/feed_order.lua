-- feed_order: assign positions to the items of a sorted feed. Positions are whole numbers with gaps. If a
-- gap is used up, the smallest surrounding range that has enough free positions is renumbered. The larger
-- the range, the larger the share of its positions that must be free. With this rule, an insertion moves
-- few items on average, wherever the item is inserted.
--
-- uses   batched_calls

local POSITIONS = 2 ^ 53
local GAP = 2 ^ 20
local SMALLEST_PART = 8
-- A range of 2^n positions is renumbered only if it holds fewer than ROOM^n items.
local ROOM = 1.54

-- Return the item before a place, the position of that item, and the position of the item after the place.
local function neighbours(order, where, reference)
  local rank = 0
  if where == 'last' then
    rank = redis.call('ZCARD', order)
  elseif where ~= 'first' then
    rank = redis.call('ZRANK', order, reference) + (where == 'after' and 1 or 0)
  end
  local found = redis.call('ZRANGE', order, math.max(0, rank - 1), rank, 'WITHSCORES')
  if rank == 0 then
    return nil, nil, tonumber(found[2])
  end
  return found[1], tonumber(found[2]), tonumber(found[4])
end

local function position_between(before, after)
  if not before and not after then
    return POSITIONS / 2
  elseif not after and before + GAP < POSITIONS then
    return before + GAP
  elseif not before and after >= GAP then
    return after - GAP
  end
  local low, high = before or -1, after or POSITIONS
  return high - low > 1 and low + math.floor((high - low) / 2)
end

local function renumber_around(order, around)
  local size, most = SMALLEST_PART, ROOM ^ 3
  local first, last, count
  while true do
    first = math.floor(around / size) * size
    last = string.format('%.0f', first + size - 1)
    count = redis.call('ZCOUNT', order, string.format('%.0f', first), last)
    if size >= POSITIONS or count < most and 2 * (count + 1) <= size then
      break
    end
    size, most = size * 2, most * ROOM
  end
  local ids = redis.call('ZRANGE', order, string.format('%.0f', first), last, 'BYSCORE')
  local renumbered = {}
  for i, id in ipairs(ids) do
    renumbered[2 * i - 1] = string.format('%.0f', first + math.floor(i * size / (count + 1)))
    renumbered[2 * i] = id
  end
  call_in_batches('ZADD', order, renumbered)
end

-- Insert an id that the feed does not contain yet, and return the place of the id.
local function insert_at(order, id, where, reference)
  local one_before, before, after = neighbours(order, where, reference)
  local position = position_between(before, after)
  if not position then
    renumber_around(order, before or after)
    one_before, before, after = neighbours(order, where, reference)
    position = position_between(before, after)
  end
  redis.call('ZADD', order, string.format('%.0f', position), id)
  return one_before and 'after ' .. one_before or 'first'
end

local function is_at(order, id, where, reference)
  local rank = redis.call('ZRANK', order, id)
  if where == 'first' then
    return rank == 0
  elseif where == 'last' then
    return rank == redis.call('ZCARD', order) - 1
  end
  return rank == redis.call('ZRANK', order, reference) + (where == 'after' and 1 or -1)
end

-- Move an id that the feed contains, and return its new place, or '' if the id is already at that place.
local function move_to(order, id, where, reference)
  if id == reference or is_at(order, id, where, reference) then
    return ''
  end
  redis.call('ZREM', order, id)
  return insert_at(order, id, where, reference)
end

-- Return the place for the next item, so that several items keep the order in which they were passed.
local function next_place(id, where, reference)
  if where == 'first' or where == 'after' then
    return 'after', id
  end
  return where, reference
end
