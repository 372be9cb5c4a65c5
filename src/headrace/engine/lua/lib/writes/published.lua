-- published: what is noted of a bundle when a chunk of it has become jobs.
--
-- uses   keys now places bundles
-- later  conclude_alone

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
    lift(BUNDLES, bundle)
  elseif redis.call('HGET', META, 'shards') == '1' then
    conclude_alone(bundle)
  end
  return false
end
