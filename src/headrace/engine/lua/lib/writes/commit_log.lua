-- commit_log: store an entry for each committed write on the coordinator shard of the write. A write is
-- committed only once. For a stream, only the entry of the newest batch is kept, because earlier batches
-- are finished. The entry of a published write is deleted after a week, and the entry of a stream is
-- deleted a year after the last batch of the stream.
--
-- uses   keys now sorted_sets transactions

local STREAMS_FOR = 365 * 86400000

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

-- Return the shards that published fewer rows than were committed, and the number of missing rows. After
-- RECORDS_FOR, the other shards have deleted their records of the transaction, so no missing rows are
-- reported.
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

-- Mark a write as published after all shards have published its rows. If the entry already belongs to a
-- later batch, the entry is not changed.
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

-- Finalize a write after the only shard has published the transaction of the write.
local function finalize_single_shard(transaction)
  local record = key('transaction', transaction)
  local counts = redis.call('HMGET', record, unpack(COUNTS))
  local published = 0
  for _, count in ipairs(counts) do
    published = published + count
  end
  finalize_write(redis.call('HGET', record, 'write'), transaction, counts, { ['0'] = published })
end

-- Delete an old entry of the commit log. The entry is kept while the write can still be published,
-- because publishing needs the transaction of the entry.
local function expire_write(write)
  local transaction = redis.call('HGET', key('write', write), 'transaction')
  if is_published(write) or not transaction or redis.call('EXISTS', key('transaction', transaction)) == 0 then
    forget_write(write)
  else
    zset_add(AGENDA, 'write:' .. write, now + A_DAY)
  end
end
