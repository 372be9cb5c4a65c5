-- set_members: members of sorted sets that have the same score are sorted by their bytes. These begin with a
-- number, so that they stand in its order: how many bytes it has, and those; then a name.

local FITS_IN_FOUR = 2 ^ 32

local function numbered(number, name)
  if number < FITS_IN_FOUR then
    return struct.pack('>BI4', 4, number) .. name
  end
  return struct.pack('>BI7', 7, number) .. name
end

local function number_in(member_name)
  return string.sub(member_name, 1, string.byte(member_name) + 1)
end

local function name_in(member_name)
  return string.sub(member_name, string.byte(member_name) + 2)
end

-- the names under which a job stands in sorted sets. Equal priorities are served by seq.

local function job_member(job)
  if job.state == 'waiting' then
    return numbered(job.seq, job.id)
  end
  return job.id
end

local function held_member(job)
  return job.queue .. '\0' .. job.id
end
