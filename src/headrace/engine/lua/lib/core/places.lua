-- places: additions to and removals from sorted sets. Runs of the same kind on the same set are
-- made in one command; whoever reads a set in the same script settles what is pending first.
--
-- uses   chunks

local adding, removing = {}, {}

local function settle_one(where)
  in_chunks('ZADD', where, adding[where])
  in_chunks('ZREM', where, removing[where])
  adding[where], removing[where] = nil, nil
end

local function place(where, member, score)
  local added = adding[where]
  if not added then
    settle_one(where)
    added = {}
    adding[where] = added
  end
  local size = #added
  added[size + 1] = score
  added[size + 2] = member
end

local function lift(where, member)
  local removed = removing[where]
  if not removed then
    settle_one(where)
    removing[where] = { member }
  else
    removed[#removed + 1] = member
  end
end

local function settle()
  for where, added in pairs(adding) do
    in_chunks('ZADD', where, added)
  end
  for where, removed in pairs(removing) do
    in_chunks('ZREM', where, removed)
  end
  adding, removing = {}, {}
end
