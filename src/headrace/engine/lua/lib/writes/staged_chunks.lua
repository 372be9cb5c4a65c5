-- staged_chunks: read a chunk of staged rows, and record that its rows became jobs.
--
-- uses   keys now sorted_sets transactions
-- later  finalize_single_shard

-- A chunk is a packed list of ids, of lengths and, if any row has them, of spare ids and options; then the
-- payloads, one after another.
-- Return an iterator factory over ids and payloads, and the spare ids and options.
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

-- Return whether more chunks are left.
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
