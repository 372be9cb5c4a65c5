-- stage: rows that are to become jobs are laid down where nobody sees them, chunk after chunk, in the
-- parcel of one attempt. What is there already is not laid down again. A parcel goes by itself after a
-- day, unless it has become part of a bundle.
--
-- args   attempt position:int
-- each   chunk
-- uses   keys now sorted_sets transactions
-- reply  how many chunks there are, or why not
-- error  STAGED_LOST

local where = key('staged', attempt)
local there = redis.call('LLEN', where)
if there < position or there > 0 and not is_unclaimed(attempt) then
  return 'STAGED_LOST'
end
for chunk in each() do
  if position >= there then
    redis.call('RPUSH', where, chunk)
  end
  position = position + 1
end
zset_add(AGENDA, staged_entry(attempt), now + STAGED_FOR)
flush_zsets()
return math.max(position, there)
