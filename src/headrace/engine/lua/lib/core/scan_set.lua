-- scan_set: read a sorted set page by page while the set changes. The cursor contains the score and the
-- name of the last member that was read. The cursor stays valid if this member is removed. The last page
-- has no cursor. A member that keeps its score is read exactly once.

-- Compare two members by their bytes, as the server does. Lua's own comparison of strings depends on the
-- locale.
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

-- Return at most `count` members with their scores, and the cursor of the next page.
local function scan_set(where, count, cursor)
  local from = cursor and rank_after(where, cursor[1], cursor[2]) or 0
  local found = redis.call('ZRANGE', where, from, from + count - 1, 'WITHSCORES')
  local size = #found
  return found, size == 2 * count and { found[size], found[size - 1] } or nil
end
