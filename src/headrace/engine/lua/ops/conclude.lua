-- conclude: every shard has published a write, and this is what came of it together. Said at its home
-- first, which writes it into the ledger; then on the others, which forget their part.
--
-- args   write bundle made:int moved:int replaced:int skipped:int
-- uses   keys now places bundles ledger
-- reply  the entry of the ledger

if redis.call('HGET', key('bundle', bundle), 'state') == 'published' then
  conclude_write(write, bundle, { made, moved, replaced, skipped })
  settle()
end
return redis.call('HGETALL', key('write', write))
