-- finalize: finalize a write after all shards have published its rows. The call contains the counts of each
-- shard. The first call goes to the coordinator, which adds the counts to the write's entry in the commit log.
-- The next calls go to the other shards, which delete their part of the transaction.
--
-- args   write transaction
-- each   where made:int moved:int replaced:int skipped:int
-- uses   keys sorted_sets commit_log
-- reply  the commit log entry

if redis.call('HGET', key('transaction', transaction), 'state') == 'published' then
  local counts, published = { 0, 0, 0, 0 }, {}
  for where, made, moved, replaced, skipped in each() do
    for i, count in ipairs({ made, moved, replaced, skipped }) do
      counts[i] = counts[i] + count
      published[where] = (published[where] or 0) + count
    end
  end
  finalize_write(write, transaction, counts, published)
  flush_zsets()
end
return redis.call('HGETALL', key('write', write))
