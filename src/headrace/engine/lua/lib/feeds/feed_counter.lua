-- feed_counter: ids of a sorted feed that nobody gives are numbers, and new: one that is given must not
-- come again.
--
-- uses   keys feed

local counter

local function count_past(id)
  counter = counter or tonumber(redis.call('HGET', feed_key, 'counter') or 0)
  if #id <= 15 and string.match(id, '^[1-9]%d*$') and tonumber(id) > counter then
    counter = tonumber(id)
    redis.call('HSET', feed_key, 'counter', id)
  end
end
