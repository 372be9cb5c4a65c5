-- ledger: what was decided about writes, at their home. A write is decided once; of a stream the newest
-- batch is kept, as those before it are done. Entries of writes that were published go after a week,
-- or when there are too many; those of a stream a year after its last batch.
--
-- uses   keys now places bundles

local WRITES_AT_MOST, FORGOTTEN_AT_MOST = 10000, 20
local STREAMS_FOR = 365 * DAY

local TALLIES = { 'made', 'moved', 'replaced', 'skipped' }

local function forget_write(write)
  redis.call('DEL', key('write', write))
  lift(WRITES, write)
  lift(STREAMS, write)
  lift(AGENDA, 'write:' .. write)
end

local function is_published(write)
  return redis.call('HGET', key('write', write), 'state') == 'published'
end

local function forget_some_writes()
  if redis.call('ZCARD', WRITES) <= WRITES_AT_MOST then
    return
  end
  for _, write in ipairs(redis.call('ZRANGE', WRITES, 0, FORGOTTEN_AT_MOST - 1)) do
    if is_published(write) then
      forget_write(write)
    end
  end
end

local function keep_write(write, batch)
  local is_stream = batch >= 0
  place(is_stream and STREAMS or WRITES, write, now)
  place(AGENDA, 'write:' .. write, now + (is_stream and STREAMS_FOR or RECORDS_FOR))
end

-- All shards have published; the entry may by now be that of a later batch.
local function conclude_write(write, bundle, tallies)
  local entry = key('write', write)
  if redis.call('HGET', entry, 'bundle') == bundle and not is_published(write) then
    redis.call('HSET', entry, 'state', 'published', 'published_at', now)
    for i, what in ipairs(TALLIES) do
      redis.call('HSET', entry, what, tallies[i])
    end
  end
  forget_bundle(bundle)
end
