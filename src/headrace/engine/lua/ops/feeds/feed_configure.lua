-- feed_configure: replace all settings of a feed. Items that exceed the new limit are evicted, a bounded
-- number per call. The reply 0 means that the caller must call again. The call that
-- continues has the flag `continued` and only evicts items.
--
-- args   feed kind max_length about instance continued:flag
-- flags  allow-oom
-- nonce  always
-- uses   feed feed_change
-- reply  1 if finished, 0 if the caller must call again, or a refusal
-- error  FEED_NOT_FOUND

if not open_feed(feed, kind) then
  return 'FEED_NOT_FOUND'
end
if not continued then
  redis.call('HSET', feed_key, 'max_length', max_length, 'about', about)
  feed_most = tonumber(max_length)
  record_change(feed, 'feed_configured', '', '', '', instance)
end
return feed_write_back(feed_evict(feed) == 0 and 1 or 0)
