-- feed_change: number, log and publish every change of a feed, on the channel of the feed and on that of
-- all feeds of the shard. The parts of a message are joined by zero bytes, which no name contains; the item
-- comes last and may contain some. The life of a feed, the number of the event that created it,
-- distinguishes it from a later feed of the same name.
--
-- uses   keys events defaults setting_value feed

local largest_data

local function log_change(feed, kind, id, item, place, instance)
  largest_data = largest_data
    or setting_value(nil, redis.call('HGET', CONFIG, 'event_data'), default_event_data)
  local more
  if #item > largest_data then
    more = { 'left_out', #item }
    item = ''
  end
  local entry
  entry, more = next_entry(more)
  redis.call('XADD', EVENTS, entry, 'kind', kind, 'id', id, 'queue', feed, 'attempt', 0,
    'worker', '', 'priority', 0, 'wait', '', 'run', '', 'data', item, 'change', feed_number,
    'place', place, 'instance', instance, unpack(more or {}))
end

-- The place is the item's present position: newest, first, or after another item; '' if unchanged.
local function record_change(feed, kind, id, item, place, instance)
  feed_number = feed_number + 1
  log_change(feed, kind, id, item, place, instance)
  changes = changes + 1
  feed_life = feed_life or string.format('%.0f', number)
  local message = table.concat(
    { kind, feed, feed_life, feed_number, changes, id, place, instance, item }, '\0')
  redis.call('SPUBLISH', key('changes', feed), message)
  redis.call('SPUBLISH', key('changes', ''), message)
end
