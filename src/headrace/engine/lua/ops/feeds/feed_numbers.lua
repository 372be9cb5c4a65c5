-- feed_numbers: reserve new ids for a sorted feed from its counter. Reserved ids that are not used are
-- never generated again.
--
-- args   feed count:int
-- nonce  always
-- uses   feed
-- reply  the last id, or a refusal
-- error  FEED_NOT_FOUND

if not open_feed(feed, 'sorted') then
  return 'FEED_NOT_FOUND'
end
return redis.call('HINCRBY', feed_key, 'counter', count)
