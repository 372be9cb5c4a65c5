-- places: additions to and removals from sorted sets, collected and then made in one go.
--
-- uses   chunks

local pending = {}

local function pending_for(where)
  local changes = pending[where]
  if not changes then
    changes = {}
    pending[where] = changes
  end
  return changes
end

local function place(where, member, score)
  pending_for(where)[member] = score
end

local function lift(where, member)
  pending_for(where)[member] = false
end

-- settle: whoever reads a sorted set in the same script settles what is pending first.
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
