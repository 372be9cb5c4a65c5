-- commit_log: the entries of committed writes on their coordinator shard. A write is
-- committed once. For a stream only the newest batch is kept, because earlier batches are done. Entries of
-- published writes are deleted after a week, those of a stream a year after its last batch.
--
-- uses   keys now sorted_sets transactions

local STREAMS_FOR = 365 * DAY

local COUNTS = { 'made', 'moved', 'replaced', 'skipped' }

local function forget_write(write)
  redis.call('DEL', key('write', write))
  zset_remove(WRITES, write)
  zset_remove(STREAMS, write)
  zset_remove(AGENDA, 'write:' .. write)
end

local function is_published(write)
  return redis.call('HGET', key('write', write), 'state') == 'published'
end

local function keep_write(write, batch)
  local is_stream = batch >= 0
  zset_add(is_stream and STREAMS or WRITES, write, now)
  zset_add(AGENDA, 'write:' .. write, now + (is_stream and STREAMS_FOR or RECORDS_FOR))
end

-- Return the shards that published fewer rows than were committed, and the difference. After RECORDS_FOR
-- the other shards have deleted their records, so no shard is reported.
local function rows_lost(entry, transaction, published)
  local lost = {}
  if now - redis.call('HGET', entry, 'committed_at') < RECORDS_FOR then
    local parts = redis.call('HGET', key('transaction', transaction), 'parts') or ''
    for where, rows in string.gmatch(parts, '(%d+)=(%d+)') do
      local missing = rows - (published[where] or 0)
      if missing > 0 then
        lost[#lost + 1] = string.format('%s=%d', where, missing)
      end
    end
  end
  return table.concat(lost, ' ')
end

-- All shards have published. The entry may already belong to a later batch.
local function finalize_write(write, transaction, counts, published)
  local entry = key('write', write)
  if redis.call('HGET', entry, 'transaction') == transaction and not is_published(write) then
    local lost = rows_lost(entry, transaction, published)
    if lost ~= '' then
      redis.call('HSET', entry, 'lost', lost)
    end
    redis.call('HSET', entry, 'state', 'published', 'published_at', now)
    for i, what in ipairs(COUNTS) do
      redis.call('HSET', entry, what, counts[i])
    end
  end
  delete_transaction(transaction)
end
