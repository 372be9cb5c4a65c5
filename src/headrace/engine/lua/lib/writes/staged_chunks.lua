-- staged_chunks: read a chunk of staged rows, turn the rows into jobs, and record that the chunk was
-- published.
--
-- uses   keys now sorted_sets transactions commit_log job_records create_job put_rules put_conflicts

-- A chunk begins with a packed list: the ids, the lengths of the payloads and, if any row has a spare id or
-- options, the spare ids and options. A spare id is the id that a row gets with the policy `duplicate` if its own
-- id exists. The payloads follow, one after another. Return two values: a function that creates iterators over
-- ids and payloads, and the list of spare ids and options.
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

-- Record that a chunk was published, and return whether more chunks are left.
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

local COUNTED = { 'made', 'made', 'moved', 'replaced' }

-- Put staged rows through the general path of put. The write is already committed, so a row that put
-- would refuse is skipped and counted.
local function publish_rows(queue, policy, every, others)
  -- Staged rows have no dependencies, and the earlier dependencies of an existing job cannot form a cycle.
  put_policy = policy
  read_jobs(ids_of(every))
  local counted, at = {}, 0
  for id, data in every() do
    at = at + 1
    local spare, own = unpack(others and others[at] or {})
    local job = loaded_jobs[id]
    local answer = job and put_existing_id(job, queue, spare, data, own)
      or create_job(queue, id, data, own) and 1
    local what = COUNTED[answer] or 'skipped'
    counted[what] = (counted[what] or 0) + 1
  end
  return counted
end
