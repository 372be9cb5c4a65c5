-- feed: what is known of the feed of this call. A feed is made as plain or sorted and stays so; for
-- whom it is the other kind it is not there: the one they know was deleted.
--
-- uses   keys

local feed_life, feed_most, feed_by

local function open_feed(feed, kind)
  local found = redis.call('HMGET', key('feed', feed), 'kind', 'life', 'max_length', 'by')
  feed_life, feed_most, feed_by = found[2], tonumber(found[3] or ''), found[4]
  return found[1] and (not kind or kind == found[1])
end
