-- convert_rates: keep the used part of a rate when the rate changes. A rate is a bucket of tokens that
-- refills evenly. The tokens that are used before the change refill at the new rate. If a rate is removed, its
-- used tokens are forgotten.
--
-- uses   keys now settings gates batched_calls

-- At the time `used`, all tokens of the old rate would have been available again. Return the time at which all
-- tokens of the new rate are available again. Both times are in microseconds.
local function converted(used, before, after)
  local starts, step = rate_step(after)
  local old_starts, old_step = rate_step(before)
  if starts == 0 then
    return used
  end
  local tokens = math.max(0, used - 1000 * now) / (old_starts == 0 and step or old_step)
  return 1000 * now + math.ceil(math.min(starts, tokens) * step)
end

local function convert_rate(gate, before, after)
  local where, name = rate_place(gate)
  local used = before ~= after and redis.call('ZSCORE', where, name)
  if not used then
    return
  elseif before and after then
    redis.call('ZADD', where, string.format('%.0f', converted(tonumber(used), before, after)), name)
  else
    redis.call('ZREM', where, name)
  end
end

local KEYS_AT_MOST = 4000

-- Convert the rates of the KEYS_AT_MOST keys of a queue that have used the most tokens. All other keys start with
-- all of their tokens.
local function convert_key_rates(queue, before, after)
  if before == after then
    return
  end
  local where, own = key('rates', queue), 'q' .. queue
  local found = redis.call('ZRANGE', where, 0, KEYS_AT_MOST - 1, 'REV', 'WITHSCORES')
  local kept, own_used = {}, redis.call('ZSCORE', where, own)
  for i = 1, before and after and #found or 0, 2 do
    if found[i] ~= own then
      kept[#kept + 1] = string.format('%.0f', converted(tonumber(found[i + 1]), before, after))
      kept[#kept + 1] = found[i]
    end
  end
  if own_used then
    kept[#kept + 1] = own_used
    kept[#kept + 1] = own
  end
  redis.call('UNLINK', where)
  call_in_batches('ZADD', where, kept)
end

-- Convert the rates of a queue whose settings have changed.
local function convert_queue_rates(queue, before)
  local after = settings(queue)
  convert_rate('q' .. queue, shard_share(before.rate, before.shards), shard_share(after.rate, after.shards))
  convert_key_rates(queue, before.key_rate or false, after.key_rate or false)
end
