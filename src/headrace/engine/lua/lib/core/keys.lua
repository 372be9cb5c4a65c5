-- keys: functions that name the keys of a shard. engine/keys.py adds a constant for each key that a shard has
-- once. A name is always the whole rest of its key, so no name can be mistaken for another key.
-- docs/reference/keys.md lists the roles.

local function key(role, name)
  return shard .. role .. ':' .. name
end

local function shard_number()
  return tonumber(string.match(shard, '(%d+)}:$'))
end
