-- finalize_single_shard: finalize a write when the only shard has published its transaction.
--
-- uses   keys commit_log

return function(transaction)
  local record = key('transaction', transaction)
  local counts = redis.call('HMGET', record, unpack(COUNTS))
  local published = 0
  for _, count in ipairs(counts) do
    published = published + count
  end
  finalize_write(redis.call('HGET', record, 'write'), transaction, counts, { ['0'] = published })
end
