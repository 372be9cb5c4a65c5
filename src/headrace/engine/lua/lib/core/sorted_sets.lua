-- sorted_sets: buffer additions to and removals from sorted sets. Consecutive changes of one kind to one
-- set become one command. A script must flush the buffered changes before it reads a set.
--
-- uses   batched_calls

local adding, removing = {}, {}

local function flush_zset(where)
  local added, removed = adding[where], removing[where]
  if added then
    adding[where] = nil
    call_in_batches('ZADD', where, added)
  end
  if removed then
    removing[where] = nil
    call_in_batches('ZREM', where, removed)
  end
end

local function zset_add(where, member, score)
  local added = adding[where]
  if added then
    local size = #added
    added[size + 1] = score
    added[size + 2] = member
    return
  elseif removing[where] then
    flush_zset(where)
  end
  adding[where] = { score, member }
end

local function zset_remove(where, member)
  local removed = removing[where]
  if removed then
    removed[#removed + 1] = member
    return
  elseif adding[where] then
    flush_zset(where)
  end
  removing[where] = { member }
end

local function flush_zsets()
  for where in pairs(adding) do
    flush_zset(where)
  end
  for where in pairs(removing) do
    flush_zset(where)
  end
end
