-- discard: delete staged rows: the rows of a transaction that is not committed, and the rows of attempts
-- that belong to no transaction. A transaction is first aborted on its coordinator, then on the other
-- shards.
--
-- args   transaction coordinator:flag
-- each   attempt
-- flags  allow-oom
-- uses   keys sorted_sets transactions
-- reply  1 if all rows are deleted, 0 if the caller must call again, or a refusal
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
