-- discard: what was staged shall not be published: a bundle, unless that was decided, and parcels that are
-- nobody's. A bundle is given up at the home of its write first, then on the other shards.
--
-- args   transaction coordinator:flag
-- each   attempt
-- flags  allow-oom
-- uses   keys sorted_sets transactions
-- reply  1 when nothing of it is left, 0 if more is to be done, or why not
-- error  ALREADY_COMMITTED

local state = redis.call('HGET', key('transaction', transaction), 'state')
if state == 'committed' or state == 'published' then
  return 'ALREADY_COMMITTED'
end
for attempt in each() do
  if is_unclaimed(attempt) then
    zset_remove(AGENDA, staged_entry(attempt))
    redis.call('UNLINK', key('staged', attempt))
  end
end
local done = true
if coordinator or state then
  done = abort_transaction(transaction, coordinator)
end
flush_zsets()
return done and 1 or 0
