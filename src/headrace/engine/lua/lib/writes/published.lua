-- published: what is noted of a bundle when a chunk of it has become jobs.
--
-- uses   keys now sorted_sets bundles
-- later  conclude_alone

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
local function note_published(bundle, is_home, parcel, counted)
  local record = key('bundle', bundle)
  if parcel then
    drop_chunk(bundle, parcel)
  end
  for what, by in pairs(counted) do
    redis.call('HINCRBY', record, what, by)
  end
  if parcels_left(bundle) then
    return true
  end
  redis.call('HSET', record, 'state', 'published')
  tend_at(bundle, now + RECORDS_FOR)
  if not is_home then
    zset_remove(BUNDLES, bundle)
  elseif redis.call('HGET', META, 'shards') == '1' then
    conclude_alone(bundle)
  end
  return false
end
