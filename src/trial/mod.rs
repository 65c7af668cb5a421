//! One job, one machine, one result: the life of a server or command, and its windows.
