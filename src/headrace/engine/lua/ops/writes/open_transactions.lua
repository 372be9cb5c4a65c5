-- open_transactions: what was prepared on this shard and should be over by now: nobody has seen to it for a while. One
-- whose record was lost is nothing that could be seen to.
--
-- args   count:int
-- uses   keys now
-- reply  for each its name and its write

local listed = {}
for _, transaction in ipairs(redis.call('ZRANGE', TRANSACTIONS, '-inf', now, 'BYSCORE', 'LIMIT', 0, count)) do
  local write = redis.call('HGET', key('transaction', transaction), 'write')
  if write then
    listed[#listed + 1] = { transaction, write }
  end
end
return listed
