-- open_transactions: list the transactions of this shard that no client has continued for a while. A
-- transaction without a record cannot be continued and is omitted.
--
-- args   count:int
-- flags  no-writes
-- uses   keys now
-- reply  for each transaction, its name and the name of its write

local listed = {}
for _, transaction in ipairs(redis.call('ZRANGE', TRANSACTIONS, '-inf', now, 'BYSCORE', 'LIMIT', 0, count)) do
  local write = redis.call('HGET', key('transaction', transaction), 'write')
  if write then
    listed[#listed + 1] = { transaction, write }
  end
end
return listed
