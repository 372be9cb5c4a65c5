-- feed_change: assign a number to every change of a feed, append the change to the event log, and
-- publish the change. Each change is published on the channel of the feed and on the channel of all
-- feeds of the shard. The parts of a message are joined by zero bytes, which no name contains. The item
-- comes last, because an item may contain zero bytes. The life of a feed is the number of the event that
-- created the feed. The life distinguishes the feed from a later feed of the same name.
--
-- uses   keys events defaults setting_value feed now write_back

-- The largest payload of an event, and the number of the newest change on the shard.
local largest_data, changes

local function log_change(feed, kind, id, item, place, instance)
  largest_data = largest_data
    or setting_value(nil, redis.call('HGET', CONFIG, 'event_data'), DEFAULT_EVENT_DATA)
  local more = { 'change', feed_number, 'place', place, 'instance', instance }
  if #item > largest_data then
    item, more = omit_payload(item, more)
  end
  append_event(kind, id, feed, 0, '', 0, '', '', item, next_event(more))
end

-- The place is the item's current position: newest, first, or after another item. If the position has not
-- changed, the place is ''.
local function record_change(feed, kind, id, item, place, instance)
  feed_number = feed_number + 1
  log_change(feed, kind, id, item, place, instance)
  changes = 1 + (changes or tonumber(redis.call('HGET', LOG, 'changes') or 0))
  feed_life = feed_life or string.format('%.0f', number)
  local message = table.concat(
    { kind, feed, feed_life, feed_number, changes, id, place, instance, item }, '\0')
  redis.call('SPUBLISH', key('changes', feed), message)
  redis.call('SPUBLISH', key('changes', ''), message)
end

local EVICT_AT_MOST = 1000

-- Evict the oldest items of a bounded feed, at most 1000 items per call. Return the number of items that
-- still exceed the limit.
local function feed_evict(feed)
  local order = key('order', feed)
  local excess = feed_most and redis.call('ZCARD', order) - feed_most or 0
  if excess <= 0 then
    return 0
  end
  local oldest = redis.call('ZRANGE', order, 0, math.min(excess, EVICT_AT_MOST) - 1)
  redis.call('ZREMRANGEBYRANK', order, 0, #oldest - 1)
  redis.call('HDEL', key('items', feed), unpack(oldest))
  for _, id in ipairs(oldest) do
    record_change(feed, 'retracted', id, '', '', '')
  end
  return excess - #oldest
end

-- Write the changes of a feed at the end of an operation. An operation that changed nothing writes
-- nothing.
local function feed_write_back(reply)
  if not number then
    return reply
  end
  if feed_key then
    redis.call('HSET', feed_key, 'number', feed_number, 'published', feed_published)
  end
  redis.call('HSET', LOG, 'number', number, 'stamp', stamp, 'changes', changes)
  local trim_due = log_needs_trim(first_number, number)
  if trim_due or redis.call('ZCOUNT', AGENDA, '-inf', now) > 0 then
    run_housekeeping(trim_due)
  end
  return reply
end
