-- observations: collect waiting and running times, failures and retries for the statistics.
--
-- uses   settings statistics

local observations

local function observe(queue, series, ms)
  observations = observations or {}
  local seen = observations[queue]
  if not seen then
    seen = {}
    observations[queue] = seen
  end
  local before = seen[series]
  if not ms then
    seen[series] = (before or 0) + 1
  elseif before then
    before[#before + 1] = ms
  else
    seen[series] = { ms }
  end
end

local function write_observations()
  for queue, seen in pairs(observations) do
    if settings(queue).stats == 1 then
      for series, values in pairs(seen) do
        if series == 'wait' or series == 'run' then
          write_series(queue, series, values)
        else
          count_on_day(queue, series, values)
        end
      end
    end
  end
end
