-- feed_configure: replace the settings of a feed as a whole. Items beyond the new limit are evicted in
-- bounded steps: 0 means call again. The nonce distinguishes the next step, or a repeated call, from a new
-- one.
--
-- args   feed kind max_length about nonce instance
-- flags  allow-oom
-- uses   feed feed_change feed_evict feed_write_back
-- reply  1, 0 to call again, or a refusal
-- error  FEED_NOT_FOUND

if not open_feed(feed, kind) then
  return 'FEED_NOT_FOUND'
end
if redis.call('HGET', feed_key, 'configured_by') ~= nonce then
  redis.call('HSET', feed_key, 'max_length', max_length, 'about', about, 'configured_by', nonce)
  feed_most = tonumber(max_length)
  record_change(feed, 'feed_configured', '', '', '', instance)
end
return feed_write_back(feed_evict(feed) == 0 and 1 or 0)
