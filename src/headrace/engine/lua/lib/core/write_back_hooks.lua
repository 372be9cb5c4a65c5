-- write_back_hooks: functions that libraries add, to be called at the end of an operation.

local write_back_hooks = {}
