-- prepare: make staged attempts part of a transaction, either all attempts or none. A prepared attempt no
-- longer expires. The attempt is deleted only after its rows are published or the coordinator has aborted
-- the transaction.
--
-- args   transaction write queue on_exists coordinator:flag
-- each   attempt order:int chunks:int
-- uses   keys now sorted_sets transactions
-- reply  1, or a refusal
-- error  STAGED_LOST WRITE_ABORTED

local record, attempts = key('transaction', transaction), key('attempts', transaction)
local state = redis.call('HGET', record, 'state')
if state == 'aborted' then
  return 'WRITE_ABORTED'
elseif state and state ~= 'prepared' then
  return 1
end
for attempt, _, chunks in each() do
  if not redis.call('ZSCORE', attempts, attempt)
    and not (is_unclaimed(attempt) and redis.call('LLEN', key('staged', attempt)) == chunks) then
    return 'STAGED_LOST'
  end
end
for attempt, order in each() do
  redis.call('ZADD', attempts, order, attempt)
  zset_remove(AGENDA, staged_entry(attempt))
end
redis.call('HSET', record, 'state', 'prepared', 'write', write, 'queue', queue, 'on_exists', on_exists,
  'coordinator', coordinator and 1 or 0, 'made', 0, 'moved', 0, 'replaced', 0, 'skipped', 0)
check_at(transaction, now + COMMIT_WITHIN)
if coordinator then
  recover_at(transaction, now + COMMIT_WITHIN)
end
flush_zsets()
return 1
