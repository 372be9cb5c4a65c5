-- feed_make: create a feed with all its settings. If the feed already exists and `open` is set, only return
-- the kind of the feed. In a namespace with the setting `strict_feeds`, a call with `open` does not create
-- a feed.
--
-- args   feed:short_name kind max_length about instance open:flag
-- nonce  always
-- uses   keys now feed feed_change events remembered_answers
-- reply  the kind, plain or sorted, or a refusal
-- error  FEED_EXISTS FEED_NOT_FOUND

feed_key = key('feed', feed)
local known_kind = redis.call('HGET', feed_key, 'kind')
if known_kind then
  return without_effect(open and known_kind or 'FEED_EXISTS')
elseif open and redis.call('HGET', CONFIG, 'strict_feeds') == '1' then
  return 'FEED_NOT_FOUND'
end
record_change(feed, 'feed_made', '', '', '', instance)
redis.call('HSET', feed_key, 'kind', kind, 'max_length', max_length, 'about', about,
  'created', now, 'life', feed_life)
redis.call('ZADD', FEEDS, number, feed)
return feed_write_back(kind)
