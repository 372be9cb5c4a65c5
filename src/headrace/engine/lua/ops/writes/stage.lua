-- stage: store the rows of one attempt of a Spark task, chunk by chunk. After the commit, the rows become
-- jobs. Staged rows are not visible to other calls. A chunk that is already stored is not stored again. A
-- staged attempt is deleted after a day, unless it became part of a transaction.
--
-- args   attempt position:int
-- each   chunk
-- uses   keys now sorted_sets transactions
-- reply  the number of stored chunks, or a refusal
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
