-- share: the part of a limit that is this shard's: with several shards each lets through its own part
-- of what the queue or the throttle lets through, so that all together never exceed it.
--
-- uses   keys

local function share(limit, shards)
  shards = tonumber(shards or 1)
  if not limit or limit == 'none' or shards == 1 then
    return limit and limit ~= 'none' and (tonumber(limit) or limit)
  end
  local number, span = string.match(limit, '^(%d+)(.*)$')
  local part = math.floor(number / shards)
  if shard_number() < number % shards then
    part = part + 1
  end
  return span == '' and part or part .. span
end
