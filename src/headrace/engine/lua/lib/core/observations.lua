-- observations: collect waiting and running times, failures and retries for the statistics.
--
-- uses   keys settings statistics write_back_hooks

local observations = {}

local function observe(queue, series, ms)
  local seen = observations[queue]
  if not seen then
    seen = { wait = {}, run = {}, failures = 0, retries = 0 }
    observations[queue] = seen
  end
  if ms then
    local values = seen[series]
    values[#values + 1] = ms
  else
    seen[series] = seen[series] + 1
  end
end

write_back_hooks[#write_back_hooks + 1] = function()
  for queue, seen in pairs(observations) do
    if settings(queue).stats == 1 then
      write_series(queue, 'wait', seen.wait)
      write_series(queue, 'run', seen.run)
      for _, what in ipairs({ 'failures', 'retries' }) do
        if seen[what] > 0 then
          redis.call('HINCRBY', key('stats', open_stats_day(queue)), what, seen[what])
        end
      end
    end
  end
end
