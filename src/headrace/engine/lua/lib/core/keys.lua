-- keys: return the keys of a shard. engine/keys.py appends a constant for each key that exists once per
-- shard. The name is always the last part of a key, so a name that contains a colon is never mistaken for
-- another key. docs/reference/keys.md lists the roles of keys.

local function key(role, name)
  return shard .. role .. ':' .. name
end

local function shard_number()
  return tonumber(string.match(shard, '(%d+)}:$'))
end
