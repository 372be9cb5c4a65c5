-- feed_evict: evict the oldest items of a bounded feed, a bounded number in a call. Returns how many are
-- still too many.
--
-- uses   keys feed feed_change

local EVICT_AT_MOST = 1000

local function feed_evict(feed)
  local order = key('order', feed)
  local excess = feed_most and redis.call('ZCARD', order) - feed_most or 0
  if excess <= 0 then
    return 0
  end
  local oldest = redis.call('ZRANGE', order, 0, math.min(excess, EVICT_AT_MOST) - 1)
  redis.call('ZREMRANGEBYRANK', order, 0, #oldest - 1)
  redis.call('HDEL', key('items', feed), unpack(oldest))
  for _, id in ipairs(oldest) do
    record_change(feed, 'retracted', id, '', '', '')
  end
  return excess - #oldest
end
