-- fast_path_enabled: whether put, pop and complete may use their fast paths. Tests replace this file to
-- prove that the general paths have the same effect as the fast paths.

local FAST_PATH = true
