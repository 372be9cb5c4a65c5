-- scan_set: a sorted set page by page, although it changes between the pages. The cursor is the score and
-- the member that were seen last, whether they are still there or not; there is none at the end. A
-- member that is there all the time with the same score is seen once.

-- Bytes, as the server orders members: Lua compares by the letters of a language.
local function sorts_after(one, other)
  for at = 1, math.min(#one, #other) do
    local mine, theirs = string.byte(one, at), string.byte(other, at)
    if mine ~= theirs then
      return mine > theirs
    end
  end
  return #one > #other
end

local function rank_after(where, score, last)
  local low = redis.call('ZCOUNT', where, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', where, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sorts_after(redis.call('ZRANGE', where, middle, middle)[1], last) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- Up to count members, each with its score, and the cursor of the next page.
local function scan_set(where, count, cursor)
  local from = cursor and rank_after(where, cursor[1], cursor[2]) or 0
  local found = redis.call('ZRANGE', where, from, from + count - 1, 'WITHSCORES')
  local size = #found
  return found, size == 2 * count and { found[size], found[size - 1] } or nil
end
