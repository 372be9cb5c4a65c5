-- feed_write_back: write the changes at the end of an operation on a feed. An operation that changed
-- nothing writes nothing.
--
-- uses   keys now events log_needs_trim feed

-- later  housekeep_only

local function feed_write_back(reply)
  if not number then
    return reply
  end
  if feed_key then
    redis.call('HSET', feed_key, 'number', feed_number, 'published', feed_published, 'by', feed_by)
  end
  redis.call('HSET', LOG, 'number', number, 'stamp', stamp, 'changes', changes)
  local trim_due = log_needs_trim(first_number, number)
  if trim_due or redis.call('ZCOUNT', AGENDA, '-inf', now) > 0 then
    housekeep_only('housekeeping', trim_due)
  end
  return reply
end
