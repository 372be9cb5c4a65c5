-- feed: the feed of this call. A feed is plain or sorted for its whole life; an operation for the other
-- kind treats it as missing, because the feed that its caller knows was deleted.
--
-- uses   keys

local feed_key, feed_life, feed_most
local feed_by, feed_number, feed_published = '', 0, 0

local function open_feed(feed, kind)
  feed_key = key('feed', feed)
  local actual_kind, life, max_length, by, number, published = unpack(redis.call(
    'HMGET', feed_key, 'kind', 'life', 'max_length', 'by', 'number', 'published'))
  feed_life, feed_most, feed_by = life, tonumber(max_length or ''), by or ''
  feed_number, feed_published = tonumber(number or 0), tonumber(published or 0)
  return actual_kind and (not kind or kind == actual_kind)
end

-- Generated ids of a sorted feed are numbers from its counter. A number that a client chose as id must not
-- be generated again.
local counter

local function raise_counter(id)
  counter = counter or tonumber(redis.call('HGET', feed_key, 'counter') or 0)
  if #id <= 15 and string.match(id, '^[1-9]%d*$') and tonumber(id) > counter then
    counter = tonumber(id)
    redis.call('HSET', feed_key, 'counter', id)
  end
end
