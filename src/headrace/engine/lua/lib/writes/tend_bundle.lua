-- tend_bundle: what the agenda does about a bundle: goes on publishing one that was decided, gives up at
-- home one that never was, forgets one that is over.
--
-- uses   keys now bundles published
-- later  publish_rows

local PAUSE = 20

local function go_on(bundle, is_home)
  local queue, policy = unpack(redis.call('HMGET', key('bundle', bundle), 'queue', 'on_exists'))
  local chunk, parcel = next_chunk(bundle)
  local counted = {}
  if chunk then
    local every, others = read_chunk(chunk)
    counted = publish_rows(queue, policy, every, others)
  end
  if note_published(bundle, is_home, parcel, counted) then
    tend_at(bundle, now + PAUSE)
  end
end

return function(bundle)
  local state, home = unpack(redis.call('HMGET', key('bundle', bundle), 'state', 'home'))
  local is_home = home == '1'
  if state == 'decided' then
    go_on(bundle, is_home)
  elseif state == 'prepared' or state == 'given_up' and parcels_left(bundle) then
    give_up(bundle, is_home)
  elseif state == 'published' and is_home then
    tend_at(bundle, now + RECORDS_FOR)
  elseif state then
    forget_bundle(bundle)
  end
end
