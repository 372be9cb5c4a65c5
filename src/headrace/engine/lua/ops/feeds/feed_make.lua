-- feed_make: a feed comes into being, with all that is set of it; or, if that is wanted, one that is
-- there is opened as it is. The nonce tells a repeated call from a second one.
--
-- args   feed kind max_length about nonce instance open:flag
-- uses   keys now feed feed_change feed_write_back events
-- reply  plain or sorted, as it is, or why not
-- error  FEED_EXISTS

feed_key = key('feed', feed)
local known_kind, made_by = unpack(redis.call('HMGET', feed_key, 'kind', 'made_by'))
if known_kind then
  if open or again and made_by == nonce then
    return known_kind
  end
  return 'FEED_EXISTS'
end
record_change(feed, 'feed_made', '', '', '', instance)
redis.call('HSET', feed_key, 'kind', kind, 'max_length', max_length, 'about', about,
  'created', now, 'made_by', nonce, 'life', feed_life)
redis.call('ZADD', FEEDS, number, feed)
return feed_write_back(kind)
