-- feed: open the feed that a call operates on. The kind of a feed, plain or sorted, never changes. An
-- operation treats a feed of the wrong kind as missing, because the feed that the caller knows must have
-- been deleted.
--
-- uses   keys

local feed_key, feed_life, feed_most
local feed_number, feed_published = 0, 0

local function open_feed(feed, kind)
  feed_key = key('feed', feed)
  local actual_kind, life, max_length, number, published = unpack(redis.call(
    'HMGET', feed_key, 'kind', 'life', 'max_length', 'number', 'published'))
  feed_life, feed_most = life, tonumber(max_length or '')
  feed_number, feed_published = tonumber(number or 0), tonumber(published or 0)
  return actual_kind and (not kind or kind == actual_kind)
end

-- Generated ids of a sorted feed are numbers from the feed's counter. If a client chooses a number as an
-- id, the counter must not generate that number again.
local counter

local function raise_counter(id)
  counter = counter or tonumber(redis.call('HGET', feed_key, 'counter') or 0)
  if #id <= 15 and string.match(id, '^[1-9]%d*$') and tonumber(id) > counter then
    counter = tonumber(id)
    redis.call('HSET', feed_key, 'counter', id)
  end
end
