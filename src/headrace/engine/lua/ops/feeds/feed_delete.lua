-- feed_delete: delete a feed and all its keys.
--
-- args   feed instance
-- flags  allow-oom
-- nonce  always
-- uses   keys feed feed_change
-- reply  1 or a refusal
-- error  FEED_NOT_FOUND

if not open_feed(feed) then
  return 'FEED_NOT_FOUND'
end
record_change(feed, 'feed_deleted', '', '', '', instance)
redis.call('ZREM', FEEDS, feed)
redis.call('UNLINK', feed_key, key('items', feed), key('order', feed))
feed_key = nil
return feed_write_back(1)
