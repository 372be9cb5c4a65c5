-- transactions: continue or abort the transaction of a write. Each shard has a record of the transaction,
-- and the attempts that are staged on this shard. An attempt is a list of chunks of rows. One
-- shard is the coordinator of the write. The coordinator decides first whether the transaction commits or aborts,
-- and the other shards follow this decision.
--
-- uses   keys now sorted_sets

local A_DAY = 86400000
local STAGED_FOR, COMMIT_WITHIN, RECORDS_FOR = A_DAY, A_DAY, 7 * A_DAY
-- If the client that publishes a transaction makes no call for this many milliseconds, the agenda takes
-- over.
local TAKE_OVER_AFTER = 2000
local DROPPED_AT_MOST = 100

local function staged_entry(attempt)
  return 'staged:' .. attempt
end

-- Return whether a staged attempt belongs to no transaction yet. An attempt without a transaction expires
-- by itself.
local function is_unclaimed(attempt)
  return redis.call('ZSCORE', AGENDA, staged_entry(attempt))
end

-- Set the time when the agenda recovers a transaction that no client has continued.
local function recover_at(transaction, at)
  zset_add(AGENDA, 'transaction:' .. transaction, at)
end

-- Set the time when clients check a transaction. Only clients can call the other shards.
local function check_at(transaction, at)
  zset_add(TRANSACTIONS, transaction, at)
end

local function mark_in_progress(transaction)
  recover_at(transaction, now + TAKE_OVER_AFTER)
  check_at(transaction, now + TAKE_OVER_AFTER)
end

local function attempts_left(transaction)
  return redis.call('EXISTS', key('attempts', transaction)) == 1
end

-- Return the next chunk and its attempt, or nil if no chunk is left. The chunk stays stored. The caller deletes
-- it in the call that creates its jobs.
local function next_chunk(transaction)
  local attempt = redis.call('ZRANGE', key('attempts', transaction), 0, 0)[1]
  return attempt and redis.call('LINDEX', key('staged', attempt), 0), attempt
end

local function drop_chunk(transaction, attempt)
  local where = key('staged', attempt)
  redis.call('LPOP', where)
  if redis.call('EXISTS', where) == 0 then
    redis.call('ZREM', key('attempts', transaction), attempt)
  end
end

-- Delete at most 100 staged attempts of a transaction. Return true if no attempt is left.
local function drop_attempts(transaction)
  local attempts = key('attempts', transaction)
  local dropped = redis.call('ZRANGE', attempts, 0, DROPPED_AT_MOST - 1)
  local names = {}
  for i, attempt in ipairs(dropped) do
    names[i] = key('staged', attempt)
  end
  if names[1] then
    redis.call('UNLINK', unpack(names))
    redis.call('ZREM', attempts, unpack(dropped))
  end
  return not attempts_left(transaction)
end

local function delete_transaction(transaction)
  redis.call('DEL', key('transaction', transaction))
  zset_remove(TRANSACTIONS, transaction)
  zset_remove(AGENDA, 'transaction:' .. transaction)
end

-- Abort a transaction, so that it cannot be committed. The coordinator keeps the record of the aborted
-- transaction for a day, in case a call arrives late.
local function abort_transaction(transaction, is_coordinator)
  redis.call('HSET', key('transaction', transaction), 'state', 'aborted')
  zset_remove(TRANSACTIONS, transaction)
  local dropped = drop_attempts(transaction)
  if not dropped then
    recover_at(transaction, now)
  elseif is_coordinator then
    recover_at(transaction, now + A_DAY)
  else
    delete_transaction(transaction)
  end
  return dropped
end
