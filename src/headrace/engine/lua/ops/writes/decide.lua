-- decide: a write shall consist of a bundle that was prepared. It is decided once, at its home: who comes
-- later is told what was decided. Batches of a stream come one after another, so that an earlier one is
-- done; other writes have batch -1. The parts are the rows of each shard: shard=rows shard=rows.
--
-- args   write batch:int bundle queue rows:int parts
-- uses   keys now sorted_sets bundles ledger
-- reply  {1 if it was decided now else 0, the entry of the ledger}, or why not
-- error  GIVEN_UP

local entry = key('write', write)
local decided = redis.call('HGET', entry, 'batch')
if decided and tonumber(decided) >= batch then
  return { 0, redis.call('HGETALL', entry) }
elseif redis.call('HGET', key('bundle', bundle), 'state') ~= 'prepared' then
  return 'GIVEN_UP'
end
redis.call('DEL', entry)
redis.call('HSET', entry, 'batch', batch, 'bundle', bundle, 'queue', queue, 'rows', rows,
  'state', 'decided', 'decided_at', now)
redis.call('HSET', key('bundle', bundle), 'state', 'decided', 'parts', parts)
keep_write(write, batch)
is_in_hand(bundle)
flush_zsets()
return { 1, redis.call('HGETALL', entry) }
