-- feed: what is known of the feed of this call. A feed is made as plain or sorted and stays so; for
-- whom it is the other kind it is not there: the one they know was deleted.
--
-- uses   keys

local feed_key, feed_life, feed_most
local feed_by, feed_number, feed_published = '', 0, 0

local function open_feed(feed, kind)
  feed_key = key('feed', feed)
  local found = redis.call(
    'HMGET', feed_key, 'kind', 'life', 'max_length', 'by', 'number', 'published')
  feed_life, feed_most, feed_by = found[2], tonumber(found[3] or ''), found[4] or ''
  feed_number, feed_published = tonumber(found[5] or 0), tonumber(found[6] or 0)
  return found[1] and (not kind or kind == found[1])
end

-- ids of a sorted feed that nobody gives are numbers, and new: one that is given must not
-- come again.

local counter

local function raise_counter(id)
  counter = counter or tonumber(redis.call('HGET', feed_key, 'counter') or 0)
  if #id <= 15 and string.match(id, '^[1-9]%d*$') and tonumber(id) > counter then
    counter = tonumber(id)
    redis.call('HSET', feed_key, 'counter', id)
  end
end
