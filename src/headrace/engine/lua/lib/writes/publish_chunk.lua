-- publish_chunk: what is noted of a bundle when a chunk of it has become jobs.
--
-- uses   keys now sorted_sets transactions
-- later  finalize_single_shard

-- a chunk of staged rows: a packed list of ids, of lengths and, if any row has them, of spare
-- ids and options; then the payloads, one after another.

-- The rows, as a function that yields ids and payloads from the first row on, and what they have else.
local function read_chunk(chunk)
  local at, head = cmsgpack.unpack_one(chunk)
  local ids, lengths = head[1], head[2]
  local data = {}
  for i, length in ipairs(lengths) do
    data[i] = string.sub(chunk, at + 1, at + length)
    at = at + length
  end
  local function every()
    local i = 0
    return function()
      i = i + 1
      return ids[i], data[i]
    end
  end
  return every, head[3]
end

-- Whether more is to come.
local function note_published(transaction, is_coordinator, attempt, counted)
  local record = key('transaction', transaction)
  if attempt then
    drop_chunk(transaction, attempt)
  end
  for what, by in pairs(counted) do
    redis.call('HINCRBY', record, what, by)
  end
  if attempts_left(transaction) then
    return true
  end
  redis.call('HSET', record, 'state', 'published')
  recover_at(transaction, now + RECORDS_FOR)
  if not is_coordinator then
    zset_remove(TRANSACTIONS, transaction)
  elseif redis.call('HGET', META, 'shards') == '1' then
    finalize_single_shard(transaction)
  end
  return false
end
