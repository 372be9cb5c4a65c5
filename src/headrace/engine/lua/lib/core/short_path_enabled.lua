-- short_path_enabled: whether put, pop and complete may use their short paths. Tests replace this file to
-- prove that the general paths have the same effect as the short paths.

local SHORT_PATH = true
