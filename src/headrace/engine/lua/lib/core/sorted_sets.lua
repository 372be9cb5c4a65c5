-- sorted_sets: buffer additions to and removals from sorted sets. Consecutive changes of one kind to one
-- set become one command. A script that reads a set flushes the pending changes first.
--
-- uses   batched_calls

local adding, removing = {}, {}

local function flush_zset(where)
  call_in_batches('ZADD', where, adding[where])
  call_in_batches('ZREM', where, removing[where])
  adding[where], removing[where] = nil, nil
end

local function zset_add(where, member, score)
  local added = adding[where]
  if not added then
    flush_zset(where)
    added = {}
    adding[where] = added
  end
  local size = #added
  added[size + 1] = score
  added[size + 2] = member
end

local function zset_remove(where, member)
  local removed = removing[where]
  if not removed then
    flush_zset(where)
    removing[where] = { member }
  else
    removed[#removed + 1] = member
  end
end

local function flush_zsets()
  for where, added in pairs(adding) do
    call_in_batches('ZADD', where, added)
  end
  for where, removed in pairs(removing) do
    call_in_batches('ZREM', where, removed)
  end
  adding, removing = {}, {}
end
