"""All of Sourcier on one machine: the servers and the services as processes, in one data folder."""
