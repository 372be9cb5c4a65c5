-- transactions: what was staged for one write belongs together from the moment it is prepared: on each shard
-- a record and its parcels, each a list of chunks of rows. The decision is made at the home of the
-- write, and there too a bundle is given up first, so that it cannot be both.
--
-- uses   keys now sorted_sets

local DAY = 86400000
local STAGED_FOR, COMMIT_WITHIN, RECORDS_FOR = DAY, DAY, 7 * DAY
-- How long whoever publishes may be silent before the agenda goes on in his place.
local TAKE_OVER_AFTER = 2000
local DROPPED_AT_MOST = 100

local function staged_entry(attempt)
  return 'staged:' .. attempt
end

-- Whether a parcel is nobody's yet, and so goes by itself.
local function is_unclaimed(attempt)
  return redis.call('ZSCORE', AGENDA, staged_entry(attempt))
end

-- When the agenda sees to a bundle, if nobody has by then.
local function recover_at(transaction, at)
  zset_add(AGENDA, 'transaction:' .. transaction, at)
end

-- When clients see to it: they know of the other shards.
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

-- The next chunk and its parcel, nil if there is none. It stays until its jobs are made.
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

-- Deletes some of what a bundle still has. True when nothing is left.
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

-- From now on it cannot be decided. At home that is remembered, for a call that comes late.
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
