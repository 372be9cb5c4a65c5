-- feed_numbers: new ids for a sorted feed, by its counter. What is not used is left out.
--
-- args   feed count:int
-- uses   feed
-- reply  the last of them, or why not
-- error  FEED_NOT_FOUND

if not open_feed(feed, 'sorted') then
  return 'FEED_NOT_FOUND'
end
return redis.call('HINCRBY', feed_key, 'counter', count)
