-- set_members: encode and decode members of sorted sets. Redis sorts members of equal score by their bytes,
-- so a member that must keep the order of a number begins with it: the length of the number in bytes, the
-- number, then a name.

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

-- The members under which a job is listed. Waiting jobs of equal priority are served by seq.
local function job_member(job)
  if job.state == 'waiting' then
    return numbered(job.seq, job.id)
  end
  return job.id
end

local function held_member(job)
  return job.queue .. '\0' .. job.id
end
