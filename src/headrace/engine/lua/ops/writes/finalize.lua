-- finalize: every shard has published a write, and this is what came of it on each. Said at its home
-- first, which writes it into the ledger; then on the others, which forget their part.
--
-- args   write transaction
-- each   where made:int moved:int replaced:int skipped:int
-- uses   keys sorted_sets commit_log
-- reply  the entry of the ledger

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
