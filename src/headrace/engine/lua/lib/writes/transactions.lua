-- transactions: the transaction of a write: on each shard a record and the staged attempts, each a list of
-- chunks of rows. A transaction is committed or aborted first on the coordinator shard of the write, so it
-- cannot be both.
--
-- uses   keys now sorted_sets

local DAY = 86400000
local STAGED_FOR, COMMIT_WITHIN, RECORDS_FOR = DAY, DAY, 7 * DAY
-- How long a publishing client may be silent before the agenda continues in its place.
local TAKE_OVER_AFTER = 2000
local DROPPED_AT_MOST = 100

local function staged_entry(attempt)
  return 'staged:' .. attempt
end

-- Whether a staged attempt belongs to no transaction yet, and so expires by itself.
local function is_unclaimed(attempt)
  return redis.call('ZSCORE', AGENDA, staged_entry(attempt))
end

-- Set when the agenda recovers a transaction that no client has continued.
local function recover_at(transaction, at)
  zset_add(AGENDA, 'transaction:' .. transaction, at)
end

-- Set when clients check a transaction: they know the other shards.
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

-- Return the next chunk and its attempt, nil if there is none. The chunk stays until its jobs exist.
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

-- Delete some of the staged attempts of a transaction. True when none is left.
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

-- Prevent the commit of a transaction. The coordinator remembers this for a day, for a call that comes
-- late.
local function abort_transaction(transaction, is_coordinator)
  redis.call('HSET', key('transaction', transaction), 'state', 'aborted')
  zset_remove(TRANSACTIONS, transaction)
  local dropped = drop_attempts(transaction)
  if not dropped then
    recover_at(transaction, now)
  elseif is_coordinator then
    recover_at(transaction, now + DAY)
  else
    delete_transaction(transaction)
  end
  return dropped
end
