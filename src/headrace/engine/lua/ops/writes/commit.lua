-- commit: commit a prepared transaction as the content of a write. The coordinator commits a write once;
-- later calls get the committed entry. Batches of a stream come one after another, so an earlier batch is
-- done; other writes have batch -1. `parts` holds the rows of each shard: shard=rows shard=rows.
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
