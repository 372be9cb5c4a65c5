-- commit: commit a prepared transaction as the content of a write. The coordinator commits a write only
-- once. Later calls for the same write return the committed entry. The batches of a stream are written one
-- after another, so all earlier batches are already finished. A write that is not part of a stream has the
-- batch -1. `parts` contains the number of rows on each shard, in the form shard=rows shard=rows.
--
-- args   write batch:int transaction queue rows:int parts
-- uses   keys now sorted_sets transactions commit_log
-- reply  {1 if committed by this call else 0, the commit log entry}, or a refusal
-- error  WRITE_ABORTED

local entry = key('write', write)
local committed = redis.call('HGET', entry, 'batch')
if committed and tonumber(committed) >= batch then
  return { 0, redis.call('HGETALL', entry) }
elseif redis.call('HGET', key('transaction', transaction), 'state') ~= 'prepared' then
  return 'WRITE_ABORTED'
end
redis.call('DEL', entry)
redis.call('HSET', entry, 'batch', batch, 'transaction', transaction, 'queue', queue, 'rows', rows,
  'state', 'committed', 'committed_at', now)
redis.call('HSET', key('transaction', transaction), 'state', 'committed', 'parts', parts)
keep_write(write, batch)
mark_in_progress(transaction)
flush_zsets()
return { 1, redis.call('HGETALL', entry) }
