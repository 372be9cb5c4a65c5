-- keep_house: what is left to do after an operation that took the short way, or changed only feeds:
-- what the agenda says is due, and of a queue that keeps too many completed jobs the oldest go.
--
-- uses   tidy retain commit

local function keep_house(log_has_grown, queue)
  if queue then
    retain(queue)
  end
  tidy(log_has_grown)
  commit()
end
