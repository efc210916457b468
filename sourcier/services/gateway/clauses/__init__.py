"""What frames a clause: denied, excepted, conditional, planned; and what follows for answers and yes/no questions."""
