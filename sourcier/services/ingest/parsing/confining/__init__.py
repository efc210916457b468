"""What a process gives up before it opens a stranger's file: other files, programs, sockets, processes, privileges."""
