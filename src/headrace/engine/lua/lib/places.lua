-- places: additions to and removals from sorted sets, collected and then made in one go. Whoever
-- reads a sorted set in the same script settles what is pending first.
--
-- uses   chunks

local pending = {}

local function place(where, member, score)
  local changes = pending[where]
  if not changes then
    changes = {}
    pending[where] = changes
  end
  changes[member] = score
end

local function lift(where, member)
  place(where, member, false)
end

local function settle()
  for where, changes in pairs(pending) do
    local added, removed = {}, {}
    for member, score in pairs(changes) do
      if score then
        added[#added + 1] = score
        added[#added + 1] = member
      else
        removed[#removed + 1] = member
      end
    end
    in_chunks('ZREM', where, removed)
    in_chunks('ZADD', where, added)
  end
  pending = {}
end
