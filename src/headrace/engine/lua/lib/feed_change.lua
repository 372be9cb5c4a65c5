-- feed_change: every change of a feed is numbered, logged and told to those who listen to this feed
-- or to all feeds of the shard. The parts of a message are joined by zero bytes, which no name has;
-- the item is the last part, and may have some. The life of a feed tells it from a later one of the
-- same name: it is the number of the event by which it was made.
--
-- uses   keys emit defaults setting feed

local largest_data

local function log_change(feed, kind, id, item, count, place, instance)
  largest_data = largest_data
    or setting(nil, redis.call('HGET', CONFIG, 'event_data'), default_event_data)
  local more = { 'change', count, 'place', place, 'instance', instance }
  if #item > largest_data then
    more[#more + 1] = 'left_out'
    more[#more + 1] = #item
    item = ''
  end
  local entry
  entry, more = next_entry(more)
  redis.call('XADD', EVENTS, entry, 'kind', kind, 'id', id, 'queue', feed, 'attempt', 0,
    'worker', '', 'priority', 0, 'wait', '', 'run', '', 'data', item, unpack(more))
end

-- The place is where the item stands now: newest, first, or after which one; '' is where it was.
local function change(feed, kind, id, item, place, instance)
  local count = redis.call('HINCRBY', key('feed', feed), 'number', 1)
  local of_shard = redis.call('HINCRBY', LOG, 'changes', 1)
  log_change(feed, kind, id, item, count, place, instance)
  feed_life = feed_life or string.format('%.0f', number)
  local message = table.concat(
    { kind, feed, feed_life, count, of_shard, id, place, instance, item }, '\0')
  redis.call('SPUBLISH', key('changes', feed), message)
  redis.call('SPUBLISH', key('changes', ''), message)
  return count
end
