-- conclude: every shard has published a write, and this is what came of it together.
--
-- args   write bundle made:int moved:int replaced:int skipped:int
-- uses   keys now places bundles ledger
-- reply  the entry of the ledger

conclude_write(write, bundle, { made, moved, replaced, skipped })
settle()
return redis.call('HGETALL', key('write', write))
