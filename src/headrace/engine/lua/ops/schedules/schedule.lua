-- schedule: create a schedule, or change the schedule with this id. A changed schedule keeps its counts. If
-- the rule is the same and the delay is -1 (no delay), the schedule also keeps the time of its next run.
-- Otherwise the schedule starts again after the delay. If `seen` is set, the value must match the version of
-- the stored schedule. If a call with `seen` changes the interval, the next run is one new interval after the
-- last run. An import creates a schedule only once, even if the schedule has been ended since then, and never
-- replaces another schedule.
--
-- args   id:short_name queue:short_name version seen:optional delay:int import_name:optional import_id:optional
-- each   name value
-- nonce  always
-- uses   keys now ensure_queue schedule_index cron notices imported_ids sorted_sets
-- reply  {now, {name, value, ...}}
-- error  NOT_AS_SEEN

local old = read_schedule(id)

local function described()
  return { now, redis.call('HGETALL', key('schedule', id)) }
end

if seen and not (old and old.by == seen) then
  return 'NOT_AS_SEEN'
elseif import_name and (old or imported_as(import_name, { import_id })[1]) then
  return 'NOT_AS_SEEN'
end
old = old or {}

local new = { queue = queue, by = version, made = 0, skipped = 0, counter = 0, last = '' }
for name, value in each() do
  new[name] = value
end
local goes_on = delay < 0 and old.every == new.every and old.cron == new.cron and old.zone == new.zone
new.after = goes_on and old.after or now + math.max(0, delay)
new.next = new.after
if new.cron then
  new.next = time_after(read_rule(new.rule, new.offsets), tonumber(new.after))
elseif goes_on then
  new.next = old.next
elseif seen then
  new.next = tonumber(old.last) and old.last + new.every or old.next
end
for _, kept in ipairs({ 'made', 'skipped', 'counter', 'last' }) do
  new[kept] = old[kept] or new[kept]
end

ensure_queue(queue)
if old.queue and old.queue ~= queue then
  unlist_schedule(id, old.queue)
end
list_schedule(id, queue, new.next)
if import_name then
  note_imported(import_id, id)
  write_imported(import_name)
end
flush_zsets()
local fields = {}
for name, value in pairs(new) do
  fields[#fields + 1] = name
  fields[#fields + 1] = value
end
redis.call('DEL', key('schedule', id))
redis.call('HSET', key('schedule', id), unpack(fields))
-- Tell waiting workers that the time of the next due job may have changed.
notify_queue(queue, 'scheduled')
send_notices()
return described()
