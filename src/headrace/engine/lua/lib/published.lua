-- published: what is noted in a bundle when a chunk of it has become jobs. The agenda goes on with it if
-- nobody else does.
--
-- uses   keys now bundles
-- later  conclude_alone

-- What was counted so far, and whether more is to come.
local function note_published(bundle, is_home, counted)
  local record = key('bundle', bundle)
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
